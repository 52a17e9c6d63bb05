"""The fit of averaged sketches: sums over chunks of rows first, then a small problem a member."""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state

from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    check_usual_units,
    rows_of_positive_weight,
    validate_data,
)
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.averaging._bagging.members import MAX_SEED
from sklearn_ensemble_theory.averaging._sketching.chunked_sketches import (
    ChunkedCentredRows,
    sketches_of_chunks,
)
from sklearn_ensemble_theory.averaging._sketching.leverage import leverage_probabilities
from sklearn_ensemble_theory.averaging._sketching.row_chunks import CentredRows
from sklearn_ensemble_theory.averaging._sketching.sketch_sums import (
    SketchSums,
    in_groups,
    member_solutions,
)
from sklearn_ensemble_theory.averaging._sketching.sketched_solutions import refined
from sklearn_ensemble_theory.averaging._sketching.sketches import SKETCHES


class BaseSketchedRegression(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """The fit of averaged sketches; not for direct use."""

    n_estimators: int
    sketch: Literal["countsketch", "gaussian", "leverage", "rademacher", "srht", "subsample"]
    sketch_size: int | float
    alpha: float
    n_refinements: int
    fit_intercept: bool
    n_jobs: int | None
    random_state: RandomStateLike

    _running_state = ("_sums",)  # partial_fit adds to it

    _parameter_constraints: dict = {
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
        X, y, root_weight = self._checked_rows(X, y, sample_weight, reset=True)
        sums = self._start(X, y)
        chunks = sums.chunks(X, y, root_weight)
        if not SKETCHES[self.sketch].oblivious:
            seed = int(sums.sketches[0].rng.integers(MAX_SEED))
            probability = leverage_probabilities(chunks, self.fit_intercept, seed)
            for sketch in sums.sketches:
                sketch.draw(probability)
        sums.add(chunks, self.n_jobs)
        self._finish(sums, partial(CentredRows, chunks))
        self.__dict__.pop("_sums", None)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add a chunk of rows to the sketches, and solve again.

        Chunks one after the other give the model of one `fit` to all rows with the same
        `random_state`, up to rounding. A first call, also after `fit`, starts a new model.

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
        The m sketches of s rows, m s (d + q + 1) numbers, stay in memory. The cost is that of `fit`
        on the chunk, O(m s d^2) for the solutions included.
        """
        if not SKETCHES[self.sketch].oblivious or self.n_refinements:
            raise ValueError(
                f"partial_fit sees a chunk once: sketch={self.sketch!r} with "
                f"n_refinements={self.n_refinements} needs all rows again. Use another sketch and "
                "n_refinements=0."
            )
        sums = vars(self).get("_sums")
        X, y, root_weight = self._checked_rows(X, y, sample_weight, reset=sums is None)
        if sums is None:
            sums = self._start(X, y)
        elif y.reshape(len(y), -1).shape[1] != len(sums.y_shift) or (y.ndim == 1) != sums.single:
            raise ValueError("y must have as many columns as in the first call of partial_fit.")
        sums.add(sums.chunks(X, y, root_weight), self.n_jobs)
        self._finish(sums, None)
        self._sums = sums
        return self

    def _checked_rows(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
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
            return X, y, None
        kept = rows_of_positive_weight(sample_weight, X, as_given=True)
        check_usual_units(kept.weight)
        X, y = kept.take(X, y)
        return X, y, np.sqrt(kept.weight)

    def _size(self, d: int) -> int:
        """The number s of rows of a sketch."""
        size = self.sketch_size
        s = int(size) if isinstance(size, Integral) else max(1, int(np.ceil(size * d)))
        if s < d and self.alpha == 0:
            raise ValueError(
                f"sketch_size={size!r} gives sketches of {s} rows, fewer than the {d} features of "
                "X, so that least squares has no unique solution. Use a larger sketch_size, or "
                "alpha > 0."
            )
        return s

    def _start(self, X: Any, y: np.ndarray) -> SketchSums:
        kind, d, q = SKETCHES[self.sketch], X.shape[1], y.reshape(len(y), -1).shape[1]
        size = self._size(d)
        sketches = [kind(seed, size, d, q + 1) for seed in self._seeds()]
        return SketchSums.of(sketches, X, y, self.fit_intercept)

    def _seeds(self) -> list[int]:
        rng = check_random_state(self.random_state)
        return [int(seed) for seed in rng.randint(MAX_SEED, size=int(self.n_estimators))]

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks, each with random numbers of its own.

        The rows are read once; for leverage scores three times; with refinements once more and once
        for each of them.
        """
        size = self._size(rows.checks.n_features)
        rows = rows.knowing(multi_output=True)
        seeds = self._seeds()
        sums = sketches_of_chunks(rows, self.sketch, size, seeds, self.fit_intercept)
        self._finish(sums, partial(ChunkedCentredRows, rows, sums.frame()))
        self.__dict__.pop("_sums", None)

    def _finish(self, sums: SketchSums, centred: Callable[..., Any] | None) -> None:
        """Solve the sketched problems and store the fitted attributes.

        ``centred(x_mean, y_mean)`` are the rows for the refinement.
        """
        x_mean, y_mean = sums.means(self.fit_intercept)
        results = in_groups(
            member_solutions,
            sums.sketches,
            self.n_jobs,
            x_mean,
            y_mean,
            self.alpha,
            self.n_refinements > 0,
        )
        members = np.array([theta for theta, *_ in results])
        with np.errstate(over="ignore", invalid="ignore"):
            mean = members.mean(axis=0)
            if self.n_refinements and centred is not None:
                grams = [gram for _, _, gram in results]
                rows = centred(x_mean, y_mean)
                mean = refined(mean, grams, rows, self.alpha, self.n_refinements)
            coefs = members.transpose(0, 2, 1) * sums.y_unit[:, None]
            coef = mean.T * sums.y_unit[:, None]
            intercept = (y_mean - x_mean @ mean) * sums.y_unit + sums.y_shift
            intercept = intercept - coef @ sums.shift
        if not (np.isfinite(coefs).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "X is so small, or y so large, that the coefficients overflow; scale them."
            )
        self.sketch_size_ = sums.sketches[0].size
        self.n_samples_seen_ = sums.n_rows
        self.rank_ = max(rank for _, rank, _ in results)
        self.coefs_ = coefs[:, 0] if sums.single else coefs
        self.coef_ = coef[0] if sums.single else coef
        if not self.fit_intercept:
            self.intercept_: float | np.ndarray = 0.0
        else:
            self.intercept_ = float(intercept[0]) if sums.single else intercept

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
