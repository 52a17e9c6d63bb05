"""The fit of averaged sketches: sums over chunks of rows first, then a small problem a member."""

import itertools
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions, fit_context
from sklearn_ensemble_theory._data.validation import validate_data
from sklearn_ensemble_theory._numerics.scaling import power_of_two
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory._weights import check_usual_units, rows_of_positive_weight
from sklearn_ensemble_theory.averaging._bagging.members import MAX_SEED
from sklearn_ensemble_theory.averaging._sketching.row_chunks import (
    CentredRows,
    RowChunks,
    first_shift,
)
from sklearn_ensemble_theory.averaging._sketching.sketched_solutions import (
    SketchedGram,
    check_sums,
    refined,
    sketched_solution,
)
from sklearn_ensemble_theory.averaging._sketching.sketches import SKETCHES, CountSketch, Sketch

# Leverage scores are estimated up to a constant factor: more columns than these are projected.
LEVERAGE_COLUMNS = 16
# Share of the draws by leverage that is uniform, so that no factor of a row is very large.
UNIFORM_SHARE = 0.1
# Elements of a centred column below this share of what was subtracted are rounding.
CANCELLED = 1e-13


@dataclass
class SketchSums:
    """What `fit` accumulates: the sketches and the sums over the rows seen."""

    sketches: list[Sketch]
    shift: np.ndarray
    y_shift: np.ndarray
    y_unit: np.ndarray
    single: bool
    n_rows: int = 0
    weight: float = 0.0
    x_sum: np.ndarray = field(init=False)
    y_sum: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.x_sum = np.zeros_like(self.shift)
        self.y_sum = np.zeros_like(self.y_shift)

    def chunks(self, X: Any, y: np.ndarray, root_weight: np.ndarray | None) -> RowChunks:
        y = (y.reshape(len(y), -1) - self.y_shift) / self.y_unit
        return RowChunks(X, y, root_weight, self.shift)

    def add(self, chunks: RowChunks, n_jobs: int | None) -> None:
        """Add the rows to all sums; the sketches in threads, a group of members each."""
        weight, x_sum, y_sum = chunks.sums()
        self.weight += weight
        self.x_sum += x_sum
        self.y_sum += y_sum
        self.n_rows += chunks.X.shape[0]
        in_groups(add_rows, self.sketches, n_jobs, chunks)

    def means(self, fit_intercept: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted means of X and y about their shifts; zero without an intercept."""
        if not fit_intercept:
            return np.zeros_like(self.x_sum), np.zeros_like(self.y_sum)
        return self.x_sum / self.weight, self.y_sum / self.weight


def in_groups(task: Any, sketches: list[Sketch], n_jobs: int | None, *args: Any) -> list[Any]:
    """The results of `task(group, *args)` for groups of sketches in threads, one after the other.

    The results do not depend on the groups; with one thread nothing is handed out.
    """
    n_groups = min(len(sketches), effective_n_jobs(n_jobs))
    if n_groups == 1:
        return task(sketches, *args)
    bounds = np.linspace(0, len(sketches), n_groups + 1).astype(int)
    groups = [sketches[a:b] for a, b in itertools.pairwise(bounds)]
    parallel = Parallel(n_jobs=n_groups, require="sharedmem")  # sketches are changed in place
    return list(itertools.chain(*parallel(delayed(task)(group, *args) for group in groups)))


def add_rows(sketches: list[Sketch], chunks: RowChunks) -> list[Any]:
    """Add the rows to these sketches, chunk by chunk, so that X is read once for all of them."""
    # The product with a chunk is as large as the sketch.
    with np.errstate(over="ignore", invalid="ignore"):
        for part in chunks.slices(2 * sketches[0].size):
            rows, targets = chunks.rows(part), chunks.targets(part)
            for sketch in sketches:
                sketch.add(rows, targets)
    return []


def member_solutions(
    sketches: list[Sketch],
    x_mean: np.ndarray,
    y_mean: np.ndarray,
    alpha: float,
    keeps_gram: bool,
) -> list[tuple[np.ndarray, int, SketchedGram | None]]:
    """(coefficients of shape (d, q), rank, what the refinement needs) of these members."""
    results = []
    for sketch in sketches:
        theta, gram = sketched_solution(*centred_sketch(sketch, x_mean, y_mean), alpha)
        results.append((theta, gram.rank, gram if keeps_gram else None))
    return results


def centred_sketch(
    sketch: Sketch, x_mean: np.ndarray, y_mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The sketch of the centred rows: S (X - 1 mean') = S X - (S 1) mean'."""
    A, B = sketch.result()
    check_sums(x_mean, y_mean)
    ones, B = B[:, :1], np.ascontiguousarray(B[:, 1:])
    if x_mean.any():
        A -= ones * x_mean
        cancelled = np.abs(A).max(axis=0) <= CANCELLED * np.abs(ones).max() * np.abs(x_mean)
        A[:, cancelled] = 0
    if y_mean.any():
        B -= ones * y_mean
    return A, B


def leverage_probabilities(chunks: RowChunks, fit_intercept: bool, seed: int) -> np.ndarray:
    """Probabilities of the rows in proportion to their estimated leverage scores.

    The scores ||R^-T x||^2 with R of a count sketch of 4 d rows; for more than 16 columns the norms
    are those of 16 Gaussian projections. O(n d + d^3 + 16 n d).
    """
    d = chunks.X.shape[1]
    sketch = CountSketch(seed, max(4 * d, LEVERAGE_COLUMNS), d, 1)
    empty = RowChunks(chunks.X, np.empty((len(chunks.y), 0)), chunks.root_weight, chunks.shift)
    add_rows([sketch], empty)
    weight, x_sum, y_sum = empty.sums()
    x_mean = x_sum / weight if fit_intercept else np.zeros(d)
    _, gram = sketched_solution(*centred_sketch(sketch, x_mean, y_sum), 0.0)
    M = inverse_factor(gram)
    if M.shape[1] > LEVERAGE_COLUMNS:
        M = M @ np.random.default_rng(seed).standard_normal((M.shape[1], LEVERAGE_COLUMNS))
        M /= LEVERAGE_COLUMNS**0.5
    scores = np.minimum(CentredRows(empty, x_mean, y_sum).squared_norms(M), 1.0)
    total = scores.sum()
    uniform = np.full(len(scores), 1 / len(scores))
    return uniform if total <= 0 else scores / total * (1 - UNIFORM_SHARE) + uniform * UNIFORM_SHARE


def inverse_factor(gram: SketchedGram) -> np.ndarray:
    """M with M M' the (pseudo)inverse of the matrix."""
    if gram.triangular:
        return solve_triangular(gram.factor, np.eye(gram.rank)) / gram.scale[:, None]
    return gram.V.T / gram.values[:, 0] / gram.unit


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
            Training rows.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

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
        self._finish(sums, chunks)
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
        rng = check_random_state(self.random_state)
        columns = y.reshape(len(y), -1)
        y_shift = first_shift(columns, self.fit_intercept)
        largest = np.abs(columns / 2 - y_shift / 2).max(axis=0)
        d = X.shape[1]
        s, kind = self._size(d), SKETCHES[self.sketch]
        return SketchSums(
            [
                kind(int(seed), s, d, columns.shape[1] + 1)
                for seed in rng.randint(MAX_SEED, size=int(self.n_estimators))
            ],
            shift=first_shift(X, self.fit_intercept),
            y_shift=y_shift,
            y_unit=np.array([power_of_two(2 * x) for x in largest]),
            single=y.ndim == 1,
        )

    def _finish(self, sums: SketchSums, chunks: RowChunks | None) -> None:
        """Solve the sketched problems and store the fitted attributes."""
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
            if self.n_refinements and chunks is not None:
                grams = [gram for _, _, gram in results]
                rows = CentredRows(chunks, x_mean, y_mean)
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
