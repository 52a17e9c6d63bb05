"""Matching pursuit on the correlations of the columns [Bach, §10.3.3 and exercise 10.5].

With columns psi_j of mean square 1 and c_j = psi_j'W(y - u), a plain round takes the k with the
largest |c_k|, adds b psi_k with b = nu c_k to u, and lowers the mean squared residual by
nu (2 - nu) c_k². It then changes the d correlations by row k of the Gram matrix, in O(d): this is
the boosting loop of `boosting._loop` with the squared loss, columns and a line search, written
again for speed, because a round there costs O(n d).

All that the rounds read of the rows are the products psi_j'Wy, y'Wy and rows of the Gram matrix.
They come from the rows themselves, or of a Dask collection from sums over its blocks
(`_column_moments`); everything after that is the same.
"""

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import daxpy, idamax
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import (
    Bunch,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import CallbackSupportMixin, Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._folds import checked_n_splits, split_off, splits_of_rows
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    checked_groups,
    finite_predictions,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scaling import TargetScale, mean_from_first, power_of_two
from sklearn_ensemble_theory._typing import ArrayLike, CVLike, RandomStateLike
from sklearn_ensemble_theory.bounds import (
    gauge,
    matching_pursuit_bound,
    matching_pursuit_kappa,
    orthogonal_matching_pursuit_bound,
)
from sklearn_ensemble_theory.bounds._arguments import check_number, checked_rows

from ._column_moments import MomentDictionary, moments_of_splits
from ._dictionary import BLOCK, ColumnDictionary, GramRows, coefficients_in_units
from ._loop import RoundReports, rows_for_callbacks

# Correlations below this share of the residual's norm at the start are rounding errors.
EXHAUSTED = 1e-13
# A column whose part outside the span of the active ones has a mean square below this would make
# the normal equations as ill conditioned as rounding allows.
DEPENDENT = 1e-10
# With fewer columns, or values of X, the rows of the Gram matrix that are likely to be needed are
# not guessed by a pursuit among some of the columns.
GUESSED_COLUMNS, GUESSED_VALUES = 384, 2**20


class MatchingPursuitRegressor(
    MultiOutputMixin, RegressorMixin, CallbackSupportMixin, BaseEstimator
):
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
        "verbose": ["verbose"],
    }

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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model, one column in each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame without sparse chunks.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Several targets are fitted one by one, with the same Gram matrix. A Dask collection
            where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out: the splits of `cv` refer to all
            rows, while an integer `cv` splits the rows of positive weight.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split of
            `early_stopping` divides them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.
            `early_stopping=True` holds out `validation_fraction` of the groups.

        Returns
        -------
        self : MatchingPursuitRegressor
            The fitted estimator.

        Warns
        -----
        ConvergenceWarning
            If orthogonal pursuit skipped columns that are nearly linear combinations of the active
            ones.
        """
        self._check_learning_rate()
        given = X
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
        groups = checked_groups(groups, X)
        rows = kept_rows(X, Y, sample_weight)
        splits = train = limits = errors = None
        if self.early_stopping == "cv":
            splits = splits_of_rows(self.cv, X, Y, rows.numbers, groups=groups)
        X, Y, weight = rows.X, rows.y, rows.shares()
        if self.early_stopping and splits is None:
            count = round(self.validation_fraction * len(Y))
            if not 0 < count < len(Y):
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} of {len(Y)} rows leaves no "
                    "row to train or to validate on."
                )
            # Drawn among the rows of positive weight only: others have no part in the error.
            rng = check_random_state(self.random_state)
            if groups is None:
                order = rng.permutation(len(Y))
                train, held_out = np.sort(order[count:]), np.sort(order[:count])
            else:
                seed, own = rng.randint(np.iinfo(np.int32).max), rows.of(groups)
                train, held_out = split_off(len(Y), self.validation_fraction, seed, None, own)
            splits = [(train, held_out)]
        if splits is not None:
            # Squares of the targets themselves might overflow or vanish; powers of two are exact.
            units = [power_of_two(size) for size in np.abs(Y).max(axis=0)]
            scaled, by_split = Y / units, []
            # Columns are normalised anew on the training rows of each split: the path must not know
            # the rows held out.
            for rest, held in splits:
                w = weight[rest] / weight[rest].sum()
                columns = ColumnDictionary(X[rest], w, self.fit_intercept)
                products = self._products(columns, scaled[rest])
                target = products.target
                centred, scales = scaled[held] - target.mean, np.asarray(target.scale)
                by_split.append(
                    [
                        held_out_squares(path, columns, X[held], t, s, weight[held])
                        for path, t, s in zip(self._pursue(products), centred.T, scales)
                    ]
                )
            limits, errors = _best_rounds(by_split, units)
        if train is not None:
            X, Y, weight = X[train], Y[train], weight[train] / weight[train].sum()
        return self._fit_products(
            self._products(ColumnDictionary(X, weight, self.fit_intercept), Y),
            limits,
            errors,
            single=y.ndim == 1,
            data=lambda: rows_for_callbacks(given, y, rows, sample_weight is not None, train),
        )

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of a Dask collection, which is read once, and twice with early stopping."""
        self._check_learning_rate()
        d = rows.n_features
        moments, splits = moments_of_splits(
            rows.knowing(multi_output=True),
            self.fit_intercept,
            n_splits=checked_n_splits(self.cv) if self.early_stopping == "cv" else 0,
            held_out=self.validation_fraction if self.early_stopping is True else 0.0,
            random_state=self.random_state,
        )
        limits = errors = None
        if splits is not None:
            units, by_split = moments.unit[d:], []
            # As in `fit`, with errors from sums over the held-out rows.
            for parts in splits:
                train, held = (part.of_targets_over(units) for part in parts)
                columns = MomentDictionary(train, d)
                products = self._products_of_moments(columns)
                gram, correlations, squares = columns.of_other_rows(held)
                errors = [
                    held_out_squares_of_products(path, gram, c, float(square))
                    for path, c, square in zip(self._pursue(products), correlations, squares)
                ]
                scales = np.asarray(columns.target.scale)
                by_split.append([s**2 * each for s, each in zip(scales, errors)])
            limits, errors = _best_rounds(by_split, units)
        products = self._products_of_moments(MomentDictionary(moments, d))
        self._fit_products(products, limits, errors, single=moments.single)

    def _check_learning_rate(self) -> None:
        if self.variant == "orthogonal" and self.learning_rate != 1:
            raise ValueError(
                "learning_rate must be 1 for variant='orthogonal', whose rounds end with least "
                f"squares; got {self.learning_rate!r}."
            )

    def _products(self, dictionary: ColumnDictionary, Y: np.ndarray) -> "Products":
        """Compute what the rounds read of the rows of a dictionary, whose targets are Y."""
        weight = dictionary.weight
        mean = mean_from_first(Y, weight) if self.fit_intercept else np.zeros(Y.shape[1])
        target = TargetScale.about(Y, mean)
        scaled = target(Y)
        rows = GramRows(dictionary, self.n_iterations)
        return Products(rows, target, dictionary.products(scaled.T), weight @ scaled**2)

    def _products_of_moments(self, dictionary: MomentDictionary) -> "Products":
        """Take the same from sums over rows, where the whole Gram matrix is there already."""
        rows = GramRows(dictionary, self.n_iterations)
        rows.load_all()
        return Products(rows, dictionary.target, dictionary.correlations, dictionary.squares)

    def _pursue(
        self, products: "Products", reports: RoundReports | None = None
    ) -> list["PursuitPath"]:
        """Run the rounds of each target."""
        end_round: EndRound | None = None
        if reports is not None and not reports.is_silent:

            def end_round(residual: float, so_far: Callable[[], PursuitPath]) -> bool:
                return reports.end_round(so_far=lambda: [so_far()], residual=residual)

        # One target after the other: rows of the Gram matrix that one needs are there for the next.
        n_rounds, paths = self.n_iterations, []
        for c, square in zip(products.correlations, products.squares):
            if self.variant == "orthogonal":
                path = orthogonal_pursuit_on_gram(
                    products.gram, c, float(square), n_rounds, self.tol, end_round=end_round
                )
            else:
                path = pursuit_on_gram(
                    products.gram,
                    c,
                    float(square),
                    n_rounds,
                    learning_rate=self.learning_rate,
                    weakness=self._weakness(),
                    tol=self.tol,
                    end_round=end_round,
                )
            paths.append(path)
        return paths

    def _weakness(self) -> float:
        return self.weakness if self.variant == "weak" else 1.0

    def _fit_products(
        self,
        products: "Products",
        limits: list[int] | None,
        errors: list[np.ndarray] | None,
        *,
        single: bool,
        data: Callable[[], dict] | None = None,
    ) -> Self:
        """Make the rounds, up to the limit of each target, and set the fitted attributes."""
        reports = RoundReports(
            self,
            self.n_iterations,
            len(products.squares),
            data=data,
            attributes=lambda paths: self._attributes_of(products, paths, single, errors),
        )
        paths = self._pursue(products, reports)
        if limits is not None:
            paths = [path.first_rounds(limit) for path, limit in zip(paths, limits)]
        reasons = dict.fromkeys(path.stop_reason for path in paths)
        reports.finish(", ".join(reasons), lambda: paths)
        n_skipped = sum(len(path.skipped) for path in paths)
        if n_skipped:
            warn_user(
                f"{n_skipped} columns were skipped because they are nearly linear combinations of "
                "the active ones; skipped_ lists them.",
                ConvergenceWarning,
            )
        self.__dict__.pop("validation_path_", None)
        self.__dict__.update(self._attributes_of(products, paths, single, errors))
        return self

    def _attributes_of(
        self,
        products: "Products",
        paths: list["PursuitPath"],
        single: bool,
        errors: list[np.ndarray] | None,
    ) -> dict[str, Any]:
        """Make the fitted attributes of the paths; single targets lose the axis of targets."""
        dictionary, mean = products.gram.dictionary, products.target.mean
        scale = np.asarray(products.target.scale)
        normalised = scale[:, None] * np.array([path.coefficients(dictionary.d) for path in paths])
        coef = coefficients_in_units(normalised, dictionary.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            intercepts = mean - coef @ dictionary.offset
        if not np.isfinite(intercepts).all():
            raise ValueError("X is so far from 0, or y so large, that the intercept overflows.")

        def each(values):
            return values[0] if single else values

        n_rounds = [len(path.chosen) for path in paths]
        found = {
            "column_offset_": dictionary.offset,
            "column_scale_": dictionary.scale,
            "intercept_": each(intercepts),
            "n_iter_": n_rounds[0] if single else np.array(n_rounds),
            "selected_": each([path.chosen for path in paths]),
            "active_": each(
                [np.array(list(dict.fromkeys(p.chosen.tolist())), dtype=np.intp) for p in paths]
            ),
            "skipped_": each([path.skipped for path in paths]),
            "residual_norms_": each([s * np.sqrt(p.squares) for s, p in zip(scale, paths)]),
            "gauge_": each(np.abs(normalised).sum(axis=1)),
            "stop_reason_": each([path.stop_reason for path in paths]),
            # The path as plain arrays: rounds' steps, or the orthogonal coefficients one after
            # another.
            "_steps": [
                s * (np.concatenate(p.coefs) if p.coefs else p.steps) for s, p in zip(scale, paths)
            ],
            "_target_means": mean,
            "coef_": each(coef),
        }
        if errors is not None:
            found["validation_path_"] = each(errors)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    # --- the fitted model ---------------------------------------------------------------------

    @property
    def coef_path_(self) -> np.ndarray | list[np.ndarray]:
        """Coefficients after 0, 1, ... rounds.

        An array of shape (n_iter_ + 1, n_features), or a list of them for several targets. As it
        may be large, it is computed at each access.
        """
        check_is_fitted(self)
        single = self.coef_.ndim == 1
        paths = []
        for chosen, steps in zip([self.selected_] if single else self.selected_, self._steps):
            path = np.zeros((len(chosen) + 1, self.n_features_in_))
            if self.variant == "orthogonal":
                start = 0  # t coefficients after round t
                for t in range(1, len(path)):
                    path[t, chosen[:t]] = steps[start : start + t]
                    start += t
            else:
                path[np.arange(1, len(path)), chosen] = steps
                np.cumsum(path, axis=0, out=path)
            path /= self.column_scale_
            paths.append(path)
        return paths[0] if single else paths

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
            If there are several targets, or neither `gauge_y` nor X and y, or `gauge_y` is no
            finite number of at least 0.

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
        if gauge_y is not None:
            check_number("gauge_y", gauge_y, 0)
        elif X is None or y is None:
            raise ValueError("gauge_y=None requires X and y, from which the gauge is computed.")
        dictionary, least_squares, gamma = None, 0.0, gauge_y or 0.0
        if X is not None:
            X = checked_rows("X", X, sparse=True)
            rows = kept_rows(X, np.zeros(X.shape[0]), sample_weight)
            dictionary = ColumnDictionary(rows.X, rows.shares(), self.fit_intercept)
            if gauge_y is None:
                check_consistent_length(X, y)
                target = rows.of(column_or_1d(y, dtype=np.float64)) - self._target_means[0]
                # In units in which means over the rows are sums of squares.
                root = np.sqrt(dictionary.weight)
                columns = dictionary.columns(np.arange(dictionary.d)) * root
                target = target * root
                fitted = columns.T @ np.linalg.lstsq(columns.T, target, rcond=None)[0]
                gamma = gauge(columns.T, fitted).value
                least_squares = float(np.sum((target - fitted) ** 2))
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


def _best_rounds(
    by_split: list[list[np.ndarray]], units: Sequence[float] | np.ndarray
) -> tuple[list[int], list[np.ndarray]]:
    """Find the number of rounds of smallest mean error by target, and these errors in units of y.

    `by_split` has the held-out errors of each split and target after 0, 1, ... rounds. A path that
    ended early stays where it ended.
    """
    means = []
    for paths in zip(*by_split):
        length = max(map(len, paths))
        padded = [np.append(p, np.full(length - len(p), p[-1])) for p in paths]
        means.append(np.mean(padded, axis=0))
    limits = [int(np.argmin(path)) for path in means]
    return limits, [TargetScale(0.0, u).squares_in_units(m) for u, m in zip(units, means)]


# --- the rounds -----------------------------------------------------------------------------------


class Products(NamedTuple):
    """All that the rounds read of the rows: `correlations` psi_j'Wy and `squares` y'Wy by target.

    The targets are in the units of `target`, the columns those of the dictionary of `gram`.
    """

    gram: GramRows
    target: TargetScale
    correlations: np.ndarray
    squares: np.ndarray


class PursuitPath(NamedTuple):
    """The rounds of a pursuit, T in number, in units of the normalised columns.

    Attributes
    ----------
    chosen : int array of shape (T,)
        The column of each round.
    steps : float array of shape (T,)
        b of each plain round; empty for an orthogonal path.
    coefs : list of T float arrays
        Orthogonal: the coefficients of the columns chosen so far after each round; else empty.
    squares : float array of shape (T + 1,)
        Mean squared residual after 0, 1, ..., T rounds.
    skipped : int array
        Columns that were skipped because they depend linearly on the active ones.
    stop_reason : {"n_iterations", "tol", "exhausted", "callback"}
    """

    chosen: np.ndarray
    steps: np.ndarray
    coefs: list
    squares: np.ndarray
    skipped: np.ndarray
    stop_reason: str

    def first_rounds(self, n_rounds: int) -> "PursuitPath":
        if n_rounds >= len(self.chosen):
            return self
        return PursuitPath(
            self.chosen[:n_rounds],
            self.steps[:n_rounds],
            self.coefs[:n_rounds],
            self.squares[: n_rounds + 1],
            self.skipped,
            "early_stopping",
        )

    def coefficients(self, d: int) -> np.ndarray:
        """Coefficients of all columns at the end: (d,)."""
        if self.coefs:
            coefficients = np.zeros(d)
            coefficients[self.chosen] = self.coefs[-1]
            return coefficients
        if len(self.chosen) == 0:
            return np.zeros(d)
        return np.bincount(self.chosen, self.steps, d)


# Called with the share of the norm of y that is left, and a function that returns the path until
# then; True ends the path.
EndRound = Callable[[float, Callable[[], PursuitPath]], bool]


def pursuit_on_gram(
    rows: GramRows,
    correlations: np.ndarray,
    square: float,
    n_rounds: int,
    *,
    learning_rate: float = 1.0,
    weakness: float = 1.0,
    tol: float = 0.0,
    end_round: EndRound | None = None,
) -> PursuitPath:
    """Plain and weak matching pursuit of y, with correlations psi_j'Wy and square y'Wy.

    With `weakness` below 1, an active column with at least this share of the best correlation is
    preferred to a new one. The rounds end when the residual's norm has fallen to the share `tol`
    of y's.
    """
    c = correlations.copy()
    floor = EXHAUSTED * np.sqrt(square)
    target = min(tol, 1.0) ** 2 * square
    chosen: list[int] = []
    active: list[int] = []
    steps: list[float] = []
    squares = [square]
    is_active = np.zeros(len(c), dtype=bool)
    reason = "n_iterations"

    def so_far() -> PursuitPath:
        return PursuitPath(
            np.array(chosen, dtype=np.intp),
            np.array(steps, dtype=float),
            [],
            np.array(squares),
            np.array([], dtype=np.intp),
            reason,
        )

    # In a round of O(d) with few columns, attribute look-ups would be most of the time.
    item, views, decrease = c.item, rows.views, (2 - learning_rate) / learning_rate
    for _ in range(n_rounds):
        if tol > 0 and square <= target:
            reason = "tol"
            break
        k = idamax(c)
        # A column that is active costs no new row of the Gram matrix, and no new coefficient.
        if weakness < 1 and active and not is_active[k]:
            inner = np.abs(c[active])
            at = int(inner.argmax())
            k = active[at] if inner[at] >= weakness * abs(item(k)) else k
        b = learning_rate * item(k)
        if abs(b) <= learning_rate * floor:
            reason = "exhausted"
            break
        row = views[k]
        if row is None:
            row = rows.load(k, c, chosen)
        # With b = nu c_k the square falls by nu (2 - nu) c_k²: no residual is needed.
        daxpy(row, c, a=-b)
        square = max(square - decrease * b * b, 0.0)
        if not is_active[k]:
            is_active[k] = True
            active.append(k)
        chosen.append(k)
        steps.append(b)
        squares.append(square)
        if end_round is not None and end_round(_share_left(squares), so_far):
            reason = "callback"
            break
    if reason == "n_iterations" and tol > 0 and square <= target:
        reason = "tol"
    return so_far()


def orthogonal_pursuit_on_gram(
    rows: GramRows,
    correlations: np.ndarray,
    square: float,
    n_rounds: int,
    tol: float = 0.0,
    *,
    end_round: EndRound | None = None,
) -> PursuitPath:
    """Orthogonal matching pursuit: least squares over all columns chosen so far.

    [Bach, exercise 10.5]. Each round adds one row to the Cholesky factor L of the active columns'
    Gram matrix; with L z = the correlations of the active columns, z_t² is what round t explains.
    """
    d = len(correlations)
    n_rounds = min(n_rounds, d)
    # The columns to guess from, where rows of the Gram matrix cost more than a guess.
    is_guessed = d >= GUESSED_COLUMNS and rows.dictionary.n * d >= GUESSED_VALUES
    columns = rows.dictionary if is_guessed else None
    floor, target = EXHAUSTED * np.sqrt(square), tol**2 * square
    L = np.zeros((n_rounds, n_rounds), order="F")
    gram = np.empty((n_rounds, d))
    z = np.empty(n_rounds)
    available = np.ones(d, dtype=bool)
    c = correlations.copy()
    chosen: list[int] = []
    coefs: list[np.ndarray] = []
    skipped: list[int] = []
    squares = [square]
    reason = "n_iterations"

    def so_far() -> PursuitPath:
        return PursuitPath(
            np.array(chosen, dtype=np.intp),
            np.array([]),
            list(coefs),
            np.array(squares),
            np.array(skipped, dtype=np.intp),
            reason,
        )

    # A round solves two triangular systems, O(t²), and changes d correlations, O(d t).
    while len(chosen) < n_rounds:
        if tol > 0 and square <= target:
            reason = "tol"
            break
        k = idamax(c)
        if abs(c[k]) <= floor:
            reason = "exhausted"
            break
        t = len(chosen)
        row = rows.views[k]
        if row is None and isinstance(columns, ColumnDictionary):
            n_most = min(n_rounds - t, 2 * BLOCK - 1)
            n_kept = int(np.count_nonzero(rows.is_kept))
            likely = likely_columns(columns, c, L[:t, :t], gram[:t], n_most, n_kept)
            row = rows.compute(k, likely, chosen)
        elif row is None:
            row = rows.load(k, c, chosen)
        # The column's part outside the span of the active ones, which is what is left to explain
        # with: without one, no coefficient of it is determined.
        inner = _solve(L[:t, :t], row[chosen])
        outside = row[k] - inner @ inner
        available[k] = False
        if outside <= DEPENDENT:
            skipped.append(k)
            c[k] = 0.0
            continue
        L[t, :t], L[t, t] = inner, np.sqrt(outside)
        gram[t] = row
        z[t] = (correlations[k] - inner @ z[:t]) / L[t, t]
        chosen.append(k)
        square = max(square - z[t] ** 2, 0.0)
        t += 1
        beta = _solve(L[:t, :t], z[:t], trans="T")
        # From the start again every time, so that rounding errors do not add up along the path.
        c = np.where(available, correlations - beta @ gram[:t], 0.0)
        coefs.append(beta)
        squares.append(square)
        if end_round is not None and end_round(_share_left(squares), so_far):
            reason = "callback"
            break
    if reason == "n_iterations" and tol > 0 and square <= target:
        reason = "tol"
    return so_far()


def _share_left(squares: list[float]) -> float:
    """Divide the norm of the residual by that of y."""
    return float(np.sqrt(squares[-1] / squares[0])) if squares[0] > 0 else 0.0


def _solve(L: np.ndarray, b: np.ndarray, trans: str = "N") -> np.ndarray:
    """Compute L^-1 b or L'^-1 b; LAPACK refuses systems of size 0."""
    if len(b) == 0:
        return b
    return solve_triangular(L, b, trans=trans, lower=True, check_finite=False)


# Pursuit among so many columns costs a fifth of the rows of the Gram matrix that it selects.
MOST_CANDIDATES = 256
COLUMNS_PER_CANDIDATE = 8
# Fewer rows of the Gram matrix at a time cost as much, because X is read as a whole; later, when
# the residuals change less from round to round, more are worth their cost.
FEWEST, FEWEST_LATER = 16, 64
DEPENDENT_CANDIDATE = 1e-5


def likely_columns(
    dictionary: ColumnDictionary,
    correlations: np.ndarray,
    factor: np.ndarray,
    rows: np.ndarray,
    n_most: int,
    n_kept: int,
) -> np.ndarray:
    """Columns in the order in which pursuit among those of large correlation chooses them.

    Nothing depends on whether the guess is right but the time. `correlations` are those with the
    residuals, 0 for columns that must not be chosen; `factor` (t, t) is the Cholesky factor of the
    active columns' Gram matrix and `rows` (t, d) are their rows of it. At most `n_most` columns are
    found; `n_kept` rows of the Gram matrix are known already.
    """
    size, d = np.abs(correlations), len(correlations)
    n_candidates = min(MOST_CANDIDATES, max(d // COLUMNS_PER_CANDIDATE, 1))
    order = np.argpartition(-size, n_candidates)[: n_candidates + 1]
    order = order[np.argsort(-size[order], kind="stable")]
    candidates, outside = order[:-1], size[order[-1]]
    # Single precision is twice as fast and errs in the order of near ties only.
    psi = dictionary.columns(candidates)
    psi *= np.sqrt(dictionary.weight)
    psi = psi.astype(np.float32)
    gram = (psi @ psi.T).astype(np.float64)
    if len(factor):  # of the candidates' parts outside the span of the active columns
        inner = solve_triangular(factor, rows[:, candidates], lower=True, check_finite=False)
        gram -= inner.T @ inner
    c, free = correlations[candidates], np.ones(n_candidates, dtype=bool)
    chosen: list[int] = []
    steps = np.empty((min(n_most, n_candidates), n_candidates))
    fewest = min(FEWEST + n_kept, FEWEST_LATER)
    # Gram-Schmidt among the candidates: the rows of `steps` are their products with orthonormal
    # directions, and c stays the correlation with what least squares leaves.
    while len(chosen) < len(steps) and free.any():
        k, t = int(np.abs(c).argmax()), len(chosen)
        # Below `outside`, columns that are no candidates had larger correlations.
        if c[k] == 0 or (t >= fewest and not abs(c[k]) > outside):
            break
        free[k] = False
        step = gram[k] - steps[:t, k] @ steps[:t]
        if step[k] > DEPENDENT_CANDIDATE:
            steps[t] = step / np.sqrt(step[k])
            c = c - steps[t] * (c[k] / np.sqrt(step[k]))
            chosen.append(k)
        c[~free] = 0.0
    return candidates[chosen]


# --- held-out errors ----------------------------------------------------------------------------


def held_out_squares(
    path: PursuitPath,
    dictionary: ColumnDictionary,
    X: Any,
    y: np.ndarray,
    scale: float,
    weight: np.ndarray,
) -> np.ndarray:
    """Weighted mean of the squared errors on other rows after 0, 1, ... rounds.

    `dictionary` is that of the training rows; y is centred as in training, but not divided by
    `scale` as the training targets were. A plain round costs O(rows), an orthogonal one O(rows t).
    """
    # Only the columns that were chosen are normalised on the other rows.
    used, code = np.unique(path.chosen, return_inverse=True)
    psi = dictionary.columns(used, X)
    total = weight.sum()
    residual = y.copy()
    errors = np.empty(len(path.chosen) + 1)
    errors[0] = weight @ residual**2
    # Rows far from those of training have squares beyond the largest float: infinite errors.
    with np.errstate(over="ignore", invalid="ignore"):
        for t, k in enumerate(code):
            if path.coefs:
                residual = y - (scale * path.coefs[t]) @ psi[code[: t + 1]]
            else:
                residual -= (scale * path.steps[t]) * psi[k]
            errors[t + 1] = weight @ residual**2
    return np.where(np.isnan(errors), np.inf, errors / total)


def held_out_squares_of_products(
    path: PursuitPath, gram: np.ndarray, correlations: np.ndarray, square: float
) -> np.ndarray:
    """`held_out_squares` from the mean products over the other rows.

    `gram` (d, d) has those of the columns, as the path has them, `correlations` (d,) those with y,
    and `square` that of y. Errors below 1e-15 of the square of y are rounding. A plain round costs
    O(columns chosen), an orthogonal one O(t²).
    """
    used, code = np.unique(path.chosen, return_inverse=True)
    errors = np.empty(len(path.chosen) + 1)
    errors[0] = square
    # |y - Psi b|² = y'y - 2 b'c + b'Gb; a plain step changes the products with the residual only.
    with np.errstate(over="ignore", invalid="ignore"):  # columns far beyond those of training
        c, gram = correlations[used], gram[np.ix_(used, used)]
        for t, k in enumerate(code):
            if path.coefs:
                b, active = path.coefs[t], code[: t + 1]
                errors[t + 1] = square - b @ (2 * c[active] - gram[np.ix_(active, active)] @ b)
            else:
                step = path.steps[t]
                errors[t + 1] = errors[t] - step * (2 * c[k] - step * gram[k, k])
                c -= step * gram[k]
    return np.maximum(np.where(np.isnan(errors), np.inf, errors), 0.0)
