"""The fit of matching pursuit: scales, rounds, held-out errors, and what is kept of them."""

from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._compat import CallbackSupportMixin, Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._folds import checked_n_splits, splits_of_rows
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import rows_of_positive_weight, validate_data
from sklearn_ensemble_theory._scaling import TargetScale, mean_from_first, power_of_two
from sklearn_ensemble_theory.boosting._dictionary import (
    ColumnDictionary,
    GramRows,
    coefficients_in_units,
)
from sklearn_ensemble_theory.boosting._loop import RoundReports, rows_for_callbacks
from sklearn_ensemble_theory.boosting._pursuit.column_moments import (
    MomentDictionary,
)
from sklearn_ensemble_theory.boosting._pursuit.moments_of_folds import moments_of_splits
from sklearn_ensemble_theory.boosting._pursuit.pursuit_rounds import (
    held_out_squares,
    held_out_squares_of_products,
    orthogonal_pursuit_on_gram,
    pursuit_on_gram,
)


class BaseMatchingPursuit(MultiOutputMixin, RegressorMixin, CallbackSupportMixin, BaseEstimator):
    """`fit` of :class:`MatchingPursuitRegressor`."""

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        kept = rows_of_positive_weight(sample_weight, X)
        limits, errors, splits, train = None, None, None, None
        if self.early_stopping == "cv":
            splits = splits_of_rows(self.cv, X, Y, kept.rows)
        X, Y = kept.take(X, Y)
        weight = kept.normalised
        if splits is not None:
            limits, errors = self._held_out_paths(X, Y, weight, splits)
        elif self.early_stopping:
            train, held = self._set_aside(len(Y))
            limits, errors = self._held_out_paths(X, Y, weight, [(train, held)])
            X, Y, weight = X[train], Y[train], weight[train] / weight[train].sum()

        def attributes(found):
            dictionary, target, paths = found
            return self._attributes_of(dictionary, target, paths, y.ndim == 1, errors)

        reports = RoundReports(
            self,
            self.n_iterations,
            Y.shape[1],
            data=lambda: rows_for_callbacks(given, y, kept, sample_weight is not None, train),
            attributes=attributes,
        )
        found = self._paths(X, Y, weight, limits, reports)
        paths = found[-1]
        reports.finish(", ".join(dict.fromkeys(path.stop_reason for path in paths)), lambda: found)
        _warn_of_skipped(paths)
        self.__dict__.pop("validation_path_", None)
        vars(self).update(attributes(found))
        return self

    def _fit_chunks(self, rows):
        """`fit` of rows in chunks, which are read once, and twice with early stopping."""
        self._check_learning_rate()
        d = rows.checks.n_features
        moments, splits = moments_of_splits(
            rows.knowing(multi_output=True),
            self.fit_intercept,
            n_splits=checked_n_splits(self.cv) if self.early_stopping == "cv" else 0,
            held_out=self.validation_fraction if self.early_stopping is True else 0.0,
            random_state=self.random_state,
        )
        limits, errors = None, None
        if splits is not None:
            limits, errors = self._held_out_sums(splits, moments.unit[d:])
        dictionary = MomentDictionary(moments, d)

        def attributes(found):
            return self._attributes_of(*found, moments.single, errors)

        n_targets = len(dictionary.squares)
        reports = RoundReports(self, self.n_iterations, n_targets, attributes=attributes)
        found = self._paths_of_sums(dictionary, limits, reports)
        reasons = dict.fromkeys(path.stop_reason for path in found[-1])
        reports.finish(", ".join(reasons), lambda: found)
        _warn_of_skipped(found[-1])
        self.__dict__.pop("validation_path_", None)
        vars(self).update(attributes(found))

    def _check_learning_rate(self):
        if self.variant == "orthogonal" and self.learning_rate != 1:
            raise ValueError(
                "learning_rate must be 1 for variant='orthogonal', whose rounds end with least "
                f"squares; got {self.learning_rate!r}."
            )

    def _set_aside(self, n):
        """The rows to train on and those to validate on."""
        count = round(self.validation_fraction * n)
        if not 0 < count < n:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n} rows leaves no row to "
                "train or to validate on."
            )
        order = check_random_state(self.random_state).permutation(n)
        return np.sort(order[count:]), np.sort(order[:count])

    def _paths(self, X, Y, weight, limits=None, reports=None):
        """The dictionary, the scales of the targets and the path of each."""
        dictionary = ColumnDictionary(X, weight, self.fit_intercept)
        rows = GramRows(dictionary, self.n_iterations)
        mean = mean_from_first(Y, weight) if self.fit_intercept else np.zeros(Y.shape[1])
        target = TargetScale.about(Y, mean)
        scaled = target(Y)
        correlations = dictionary.products(scaled.T)
        squares = weight @ scaled**2
        dictionary, target, paths = self._pursued(rows, target, correlations, squares, reports)
        return dictionary, target, _first_rounds(paths, limits)

    def _paths_of_sums(self, dictionary, limits=None, reports=None):
        """`_paths` from sums over rows."""
        gram = GramRows(dictionary, self.n_iterations)
        gram.load_all()
        dictionary, target, paths = self._pursued(
            gram, dictionary.target, dictionary.correlations, dictionary.squares, reports
        )
        return dictionary, target, _first_rounds(paths, limits)

    def _pursued(self, rows, target, correlations, squares, reports=None):
        """The dictionary, the scales and the path of each target, from sums over rows."""
        dictionary, end_round = rows.dictionary, None
        if reports is not None and not reports.is_silent:

            def end_round(residual, so_far):
                return reports.end_round(
                    so_far=lambda: (dictionary, target, [so_far()]), residual=residual
                )

        paths = [
            self._path(rows, c, float(square), end_round)
            for c, square in zip(correlations, squares)
        ]
        return dictionary, target, paths

    def _path(self, rows, correlations, square, end_round):
        if self.variant == "orthogonal":
            return orthogonal_pursuit_on_gram(
                rows, correlations, square, self.n_iterations, self.tol, end_round=end_round
            )
        return pursuit_on_gram(
            rows,
            correlations,
            square,
            self.n_iterations,
            learning_rate=self.learning_rate,
            weakness=self._weakness(),
            tol=self.tol,
            end_round=end_round,
        )

    def _weakness(self):
        return self.weakness if self.variant == "weak" else 1.0

    def _held_out_paths(self, X, Y, weight, splits):
        """By target: the best number of rounds, and the errors that it is chosen by.

        These are means over the splits of the held-out squared error after each round.
        """
        # Squares of the targets themselves might overflow or vanish; powers of two are exact.
        units = [power_of_two(size) for size in np.abs(Y).max(axis=0)]
        Y = Y / units
        by_split = []
        for train, held in splits:
            w = weight[train] / weight[train].sum()
            dictionary, target, paths = self._paths(X[train], Y[train], w)
            centred = Y[held] - target.mean
            by_split.append(
                [
                    held_out_squares(path, dictionary, X[held], t, s, weight[held])
                    for path, t, s in zip(paths, centred.T, target.scale)
                ]
            )
        return _best_rounds(by_split, units)

    def _held_out_sums(self, splits, units):
        """`_held_out_paths` from moments of the rows of each split, all of them in `units`."""
        by_split = []
        for moments in splits:
            train, held = (each.of_targets_over(units) for each in moments)
            dictionary = MomentDictionary(train, len(train.unit) - len(units))
            dictionary, target, paths = self._paths_of_sums(dictionary)
            gram, correlations, squares = dictionary.of_other_rows(held)
            errors = [
                held_out_squares_of_products(path, gram, c, float(square))
                for path, c, square in zip(paths, correlations, squares)
            ]
            by_split.append([s**2 * e for s, e in zip(target.scale, errors)])
        return _best_rounds(by_split, units)

    def _attributes_of(self, dictionary, target, paths, single, errors):
        """The fitted attributes of the paths; single targets without the axis of targets."""
        d, scale = dictionary.d, target.scale
        normalised = scale[:, None] * np.array([path.coefficients(d) for path in paths])
        coef = coefficients_in_units(normalised, dictionary.scale)

        def each(values):
            return values[0] if single else values

        n_rounds = [len(path.chosen) for path in paths]
        found = {
            "column_offset_": dictionary.offset,
            "column_scale_": dictionary.scale,
            "intercept_": each(_intercepts(target.mean, coef, dictionary.offset)),
            "n_iter_": n_rounds[0] if single else np.array(n_rounds),
            "selected_": each([path.chosen for path in paths]),
            "active_": each([_distinct(path.chosen) for path in paths]),
            "skipped_": each([path.skipped for path in paths]),
            "residual_norms_": each([s * np.sqrt(p.squares) for s, p in zip(scale, paths)]),
            "gauge_": each(np.abs(normalised).sum(axis=1)),
            "stop_reason_": each([path.stop_reason for path in paths]),
            # The path as plain arrays: rounds' steps, or the orthogonal coefficients one after
            # another.
            "_steps": [
                s * (np.concatenate(p.coefs) if p.coefs else p.steps) for s, p in zip(scale, paths)
            ],
            "_target_means": target.mean,
            "coef_": each(coef),
        }
        if errors is not None:
            found["validation_path_"] = each(errors)
        return found


def _intercepts(mean, coef, offset):
    with np.errstate(over="ignore", invalid="ignore"):
        intercepts = mean - coef @ offset
    if not np.isfinite(intercepts).all():
        raise ValueError("X is so far from 0, or y so large, that the intercept overflows.")
    return intercepts


def _warn_of_skipped(paths):
    n_skipped = sum(len(path.skipped) for path in paths)
    if n_skipped:
        warn_user(
            f"{n_skipped} columns were skipped because they are nearly linear combinations of "
            "the active ones; skipped_ lists them.",
            ConvergenceWarning,
        )


def _distinct(chosen):
    """The different numbers, in the order of their first appearance."""
    values, first = np.unique(chosen, return_index=True)
    return values[np.argsort(first)]


def _first_rounds(paths, limits):
    """The paths up to the given numbers of rounds; None for all of them."""
    if limits is None:
        return paths
    return [path.first_rounds(limit) for path, limit in zip(paths, limits)]


def _best_rounds(by_split, units):
    """By target: the number of rounds of smallest mean error, and the errors in units of y."""
    means = [_mean_path(paths) for paths in zip(*by_split)]
    limits = [int(np.argmin(path)) for path in means]
    return limits, [TargetScale(0.0, u).squares_in_units(m) for u, m in zip(units, means)]


def _mean_path(paths):
    """Mean of paths; one that ended early stays where it ended."""
    length = max(map(len, paths))
    return np.mean([np.append(p, np.full(length - len(p), p[-1])) for p in paths], axis=0)
