"""Matching pursuit over the columns of X: the estimator of the rounds of `_pursuit_rounds`."""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._compat import CallbackSupportMixin, Interval, StrOptions
from sklearn_ensemble_theory._cv_choice import CVRounds
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._folds import checked_n_splits, splits_of_rows
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    checked_groups,
    finite_predictions,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds import (
    gauge,
    matching_pursuit_bound,
    matching_pursuit_kappa,
    orthogonal_matching_pursuit_bound,
)
from sklearn_ensemble_theory.bounds._arguments import check_number, check_option, checked_rows

from ._column_moments import MomentDictionary, moments_of_splits
from ._dictionary import ColumnDictionary, coefficients_in_units
from ._loop import RoundReports, rows_for_callbacks
from ._pursuit_rounds import (
    ChosenRounds,
    EndRound,
    Products,
    PursuitPath,
    PursuitPlan,
    pursue,
    rounds_by_moments,
    rounds_by_rows,
)


@documented()
class MatchingPursuitRegressor(
    MultiOutputMixin, RegressorMixin, CallbackSupportMixin, FitsBatches, ReadsOnce, BaseEstimator
):
    """Sparse linear regression by matching pursuit: boosting that adds one column per round.

    Each round selects the column that is most correlated with the residuals and adds its
    least-squares fit to them. If you stop it early, the model is sparse and its coefficients have a
    small l1 norm.

    Parameters
    ----------
    n_estimators : int, "cv" or CVRounds, default=100
        Maximum number of rounds; 0 is the mean. Except in orthogonal pursuit, a column may be
        chosen in several of them. "cv" selects the number by the mean squared error of 5 folds of
        consecutive rows, separately for each target, and then fits to all rows. With Dask
        collections the folds are by a hash of the row's number.
        :class:`~sklearn_ensemble_theory.boosting.CVRounds` does the same with its options `cv`,
        `max_estimators` and `rule`.
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
    fit_intercept : bool, default=True
        Whether to centre the columns and y at their weighted means.
    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the training rows after each round, and for several targets at the end of the fit
        only. The rounds of folds are silent.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the columns, in units of y divided by units of the column.
    intercept_ : float or ndarray of shape (n_targets,)
        Independent term.
    n_estimators_ : int or ndarray of shape (n_targets,)
        Number of rounds.
    active_ : ndarray of int, or list of them
        The columns chosen, in the order of their first choice.
    selected_ : ndarray of shape (n_estimators_,), or list of them
        The column of each round.
    skipped_ : ndarray of int, or list of them
        Orthogonal pursuit: columns that were skipped because they are nearly linear combinations of
        the active ones. A `ConvergenceWarning` reports their number.
    residual_norms_ : ndarray of shape (n_estimators_ + 1,), or list of them
        Root mean square of the residuals after 0, 1, ... rounds, in units of y.
    gauge_ : float or ndarray of shape (n_targets,)
        The l1 norm of the coefficients of the normalised columns, in units of y.
    stop_reason_ : str or list of str
        "n_estimators", "tol", "exhausted" (no column is correlated with the residuals any more) or
        "callback".
    cv_results_ : dict of ndarrays of shape (n_rounds + 1,), or list of them
        Only if the number of rounds was chosen: "n_estimators" (0, 1, ...), the mean squared error
        on the held-out rows of each split, "split0_score", ..., the "mean_score" and its
        "standard_error".
    column_offset_, column_scale_ : ndarrays of shape (n_features,)
        Weighted means (0 without intercept) and root mean squares about them.
    %(names_in_fit)s

    See Also
    --------
    FrankWolfeRegressor : Bounds the l1 norm instead of the number of rounds.
    sklearn.linear_model.OrthogonalMatchingPursuit : Orthogonal pursuit by number of columns.

    Notes
    -----
    A round costs O(d), independent of the number of rows: it changes the correlations by a row of
    the Gram matrix. Such a row is computed when its column is first chosen, together with the rows
    of columns that are likely to be chosen next. The products cost O(n d) for each distinct column,
    O(n d²) at most. Round t of orthogonal pursuit costs O(d t). In addition to X, the rows of the
    Gram matrix in use are stored.

    For Dask collections see :ref:`passes-over-chunks` in the user guide.

    Columns that are constant (or zero, without intercept) are never chosen. Ties go to the first
    column. Integer weights are equivalent to repeating rows, except for the folds.

    The method is due to Mallat and Zhang (1993). See [Bach, §10.3.3] for its analysis, [Bach,
    exercises 10.5 and 10.6] for the rates and [Bach, §10.3.7] for an experiment.

    %(references_Bach)s

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
        "n_estimators": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"cv"}),
            CVRounds,
        ],
        "variant": [StrOptions({"plain", "orthogonal", "weak"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "weakness": [Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators: int | Literal["cv"] | CVRounds = 100,
        *,
        variant: Literal["plain", "orthogonal", "weak"] = "plain",
        learning_rate: float = 1.0,
        weakness: float = 0.8,
        tol: float = 0.0,
        fit_intercept: bool = True,
        verbose: bool | int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.variant = variant
        self.learning_rate = learning_rate
        self.weakness = weakness
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.verbose = verbose

    __metadata_request__fit = GROUPS_ON_REQUEST

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
        %(weights_and_cv)s
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split that
            compares numbers of rounds divides them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.

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
        plan, choice = self._plan()
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
        splits = None
        if choice is not None:
            splits = splits_of_rows(
                choice.cv, X, Y, rows.numbers, parameter="n_estimators__cv", groups=groups
            )
        X, Y, weight = rows.X, rows.y, rows.shares()
        chosen = None
        if choice is not None and splits is not None:
            chosen = rounds_by_rows(plan, X, Y, weight, splits, choice.rule)
        products = Products.of_rows(plan, ColumnDictionary(X, weight, plan.fit_intercept), Y)

        def data() -> dict:
            return rows_for_callbacks(given, y, rows, sample_weight is not None)

        return self._fit_products(plan, products, chosen, single=y.ndim == 1, data=data)

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of a Dask collection, which is read once, and twice for a choice of rounds."""
        plan, choice = self._plan()
        d = rows.n_features
        n_splits = 0 if choice is None else checked_n_splits(choice.cv)
        rows = rows.knowing(multi_output=True)
        moments, splits = moments_of_splits(rows, plan.fit_intercept, n_splits)
        chosen = None
        if choice is not None and splits is not None:
            chosen = rounds_by_moments(plan, d, moments.unit[d:], splits, choice.rule)
        products = Products.of_moments(plan, MomentDictionary(moments, d))
        self._fit_products(plan, products, chosen, single=moments.single)

    def _plan(self) -> tuple[PursuitPlan, CVRounds | None]:
        """The plan, and how its number of rounds is chosen, if it is."""
        choice = CVRounds.of(self.n_estimators)
        if choice is not None and (choice.prediction, choice.scoring) != ("refit", "loss"):
            raise ValueError(
                "n_estimators: MatchingPursuitRegressor compares the squared error and refits; "
                "leave CVRounds' prediction and scoring at 'refit' and 'loss'."
            )
        if self.variant == "orthogonal" and self.learning_rate != 1:
            raise ValueError(
                "learning_rate must be 1 for variant='orthogonal', whose rounds end with least "
                f"squares; got {self.learning_rate!r}."
            )
        plan = PursuitPlan(
            n_rounds=int(self.n_estimators if choice is None else choice.max_estimators),
            orthogonal=self.variant == "orthogonal",
            learning_rate=self.learning_rate,
            weakness=self.weakness if self.variant == "weak" else 1.0,
            tol=self.tol,
            fit_intercept=self.fit_intercept,
        )
        return plan, choice

    def _fit_products(
        self,
        plan: PursuitPlan,
        products: Products,
        chosen: ChosenRounds | None,
        *,
        single: bool,
        data: Callable[[], dict] | None = None,
    ) -> Self:
        """Make the rounds, up to the number of each target, and set the fitted attributes."""
        dictionary, mean = products.gram.dictionary, products.target.mean
        scale = np.asarray(products.target.scale)

        def each(values: Any) -> Any:
            return values[0] if single else values

        def attributes(paths: list[PursuitPath]) -> dict[str, Any]:
            # Single targets lose the axis of targets.
            beta = np.array([path.coefficients(dictionary.d) for path in paths])
            normalised = scale[:, None] * beta
            coef = coefficients_in_units(normalised, dictionary.scale)
            with np.errstate(over="ignore", invalid="ignore"):
                intercepts = mean - coef @ dictionary.offset
            if not np.isfinite(intercepts).all():
                raise ValueError("X is so far from 0, or y so large, that the intercept overflows.")
            n_rounds = [len(path.chosen) for path in paths]
            found = {
                "column_offset_": dictionary.offset,
                "column_scale_": dictionary.scale,
                "intercept_": each(intercepts),
                "n_estimators_": n_rounds[0] if single else np.array(n_rounds),
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
                    s * (np.concatenate(p.coefs) if p.coefs else p.steps)
                    for s, p in zip(scale, paths)
                ],
                "_target_means": mean,
                "coef_": each(coef),
            }
            if chosen is not None:
                found["cv_results_"] = each(chosen.results)
            return found

        limits = None if chosen is None else chosen.limits
        n_most = plan.n_rounds if limits is None else max(limits)
        n_targets = len(products.squares)
        reports = RoundReports(self, n_most, n_targets, data=data, attributes=attributes)
        end_round: EndRound | None = None
        if not reports.is_silent:

            def end_round(residual: float, so_far: Callable[[], PursuitPath]) -> bool:
                return reports.end_round(so_far=lambda: [so_far()], residual=residual)

        paths = pursue(plan, products, limits, end_round)
        reasons = dict.fromkeys(path.stop_reason for path in paths)
        reports.finish(", ".join(reasons), lambda: paths)
        n_skipped = sum(len(path.skipped) for path in paths)
        if n_skipped:
            warn_user(
                f"{n_skipped} columns were skipped because they are nearly linear combinations of "
                "the active ones; skipped_ lists them.",
                ConvergenceWarning,
            )
        self.__dict__.pop("cv_results_", None)
        self.__dict__.update(attributes(paths))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    # --- the fitted model ---------------------------------------------------------------------

    @property
    def coef_path_(self) -> np.ndarray | list[np.ndarray]:
        """Coefficients after 0, 1, ... rounds.

        An array of shape (n_estimators_ + 1, n_features), or a list of them for several targets. It
        may be large, and is computed at each access.
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

        %(sparse_rows_to_predict)s

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

        %(sparse_rows_to_predict)s

        %(yields_predictions)s
        """
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise ValueError(
                "staged_predict requires a single target y; fit one model for each target."
            )
        X = self._checked_X(X)
        for coef in self.coef_path_[1:]:
            with np.errstate(over="ignore", invalid="ignore"):
                y = np.asarray(X @ coef) + (self._target_means[0] - coef @ self.column_offset_)
            yield y

    def _checked_X(self, X):
        return validate_data(
            self, X, dtype=np.float64, order="C", accept_sparse=["csc", "csr"], reset=False
        )

    def error_bound(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        method: Literal["sublinear", "exponential"] = "sublinear",
        gauge_y: float | None = None,
    ) -> np.ndarray:
        """Bound the mean squared residual after 0, 1, ... rounds by theory.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The training rows. Not needed for "sublinear" with `gauge_y`.
        y : array-like of shape (n_samples,), default=None
            The targets of the fit. Not needed with `gauge_y`.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.
        method : {"sublinear", "exponential"}, default="sublinear"
            - "sublinear": :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_bound`, or
              :func:`~sklearn_ensemble_theory.bounds.orthogonal_matching_pursuit_bound`.
            - "exponential": (1 - kappa²)^t times the mean square at the start, with kappa from
              :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_kappa`.

            Both bound the excess over the mean squared residual of least squares over all columns,
            which is added; it is 0 if `gauge_y` is given.
        gauge_y : float, default=None
            gamma(y): the l1 norm of some coefficients of the normalised columns (of mean square 1)
            with which they give the centred y exactly; in units of y. If None, the least one is
            computed from X and y by :func:`~sklearn_ensemble_theory.bounds.gauge`. If the columns
            do not give y, it is the gauge of the least-squares fit to y.

        Returns
        -------
        bounds : ndarray of shape (n_estimators_ + 1,)
            The bounds, in squared units of y.

        Raises
        ------
        ValueError
            If there are several targets, if X or y is missing, or if `gauge_y` is no finite number
            of at least 0.

        Notes
        -----
        Let P y be the least-squares fit over all columns. The rounds for y and for P y choose the
        same columns. The mean squared residuals differ by that of least squares, so the rates for P
        y bound the excess over least squares [Bach, §10.3.3]. The linear program for its gauge has
        2 d variables; it takes seconds for a few thousand rows and columns.
        """
        check_is_fitted(self)
        check_option("method", method, ("sublinear", "exponential"))
        if self.coef_.ndim > 1:
            raise ValueError(
                "error_bound requires a single target y; fit one model for each target."
            )
        if gauge_y is not None:
            check_number("gauge_y", gauge_y, 0)
        elif X is None or y is None:
            raise ValueError("gauge_y=None requires X and y, from which the gauge is computed.")
        if method == "exponential" and X is None:
            raise ValueError("method='exponential' requires X, from which kappa is computed.")
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
                least_squares = float(np.sum((target - fitted) ** 2))
                if method == "sublinear":
                    gamma = gauge(columns.T, fitted).value
        plan, t = self._plan()[0], np.arange(self.n_estimators_ + 1)
        nu, theta = plan.learning_rate, plan.weakness
        if method == "exponential":
            assert dictionary is not None
            rate = 1 - nu * (2 - nu) * (theta * matching_pursuit_kappa(dictionary.gram())) ** 2
            return self.residual_norms_[0] ** 2 * rate**t + least_squares
        if plan.orthogonal:
            return orthogonal_matching_pursuit_bound(t, gamma) + least_squares
        return matching_pursuit_bound(t, gamma, nu, theta) + least_squares

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
