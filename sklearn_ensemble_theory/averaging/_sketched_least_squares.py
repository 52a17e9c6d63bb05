"""Least squares with sketched rows: sums over rows, leverage scores, small problems, refinement.

Everything is a sum over blocks of rows. Arrays in memory are one block; the
chunks of a Dask collection have shifts, units and random numbers of their own, and the sums of a
chunk are moved to those of the first one when they are added. A block is read in parts of at least
`PART_NUMBERS` numbers, each of which is made double precision, shifted and weighted while it is in
the processor's cache, once for all sketches: X is never copied as a whole.
"""

import itertools
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.linalg import lapack, solve_triangular
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._rows import BlockedRows, Rows
from sklearn_ensemble_theory._running import MAX_SEED
from sklearn_ensemble_theory._scaling import power_of_two

from ._sketches import SKETCHES, AllRows, CountSketch, Sketch

# Numbers of X in a part, at least: 2 MB, so that a part stays in the cache for all sketches.
PART_NUMBERS = 2**18
# A column is shifted by its first value where that is so many times its range in the first rows.
FAR_FROM_ZERO = 100
# The unit of targets that are all equal in a block: any other one is larger.
NO_SPREAD = float(np.finfo(np.float64).tiny)
# Elements of a centred column below this share of what was subtracted are rounding.
CANCELLED = 1e-13
# Leverage scores are estimated up to a constant factor: more columns than these are projected.
LEVERAGE_COLUMNS = 16
# Share of the draws by leverage that is uniform, so that no factor of a row is very large.
UNIFORM_SHARE = 0.1
# Below this reciprocal condition number of the (scaled) triangular factor it is decomposed again.
SMALLEST_RCOND = 1e-11


# --- rows about shifts ----------------------------------------------------------------------------


class Frame(NamedTuple):
    """A block measures its rows from these shifts, in these units."""

    # A constant for each column near its values, where they are far from zero; otherwise 0. Sums
    # about it do not lose the digits that sums about zero would.
    x_shift: np.ndarray
    y_shift: np.ndarray  # one for each output, as the units
    y_unit: np.ndarray
    single: bool  # whether y has no axis of targets

    @classmethod
    def of(cls, X: Any, y: np.ndarray, fit_intercept: bool, no_spread: float) -> "Frame":
        """For rows like these; `no_spread` is the unit of targets that are all equal."""
        columns = y.reshape(len(y), -1)
        y_shift = _first_shift(columns, fit_intercept)
        largest = np.abs(columns / 2 - y_shift / 2).max(axis=0)
        y_unit = np.array([power_of_two(2 * x) if x > 0 else no_spread for x in largest])
        return cls(_first_shift(X, fit_intercept), y_shift, y_unit, y.ndim == 1)

    def in_units(self, y_unit: np.ndarray) -> "Frame":
        """The same shifts, in other units of y."""
        return self._replace(y_unit=y_unit)

    def rows(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> "ShiftedRows":
        y = (y.reshape(len(y), -1) - self.y_shift) / self.y_unit
        return ShiftedRows(X, y, None if weight is None else np.sqrt(weight), self.x_shift)


def _first_shift(X: Any, fit_intercept: bool) -> np.ndarray:
    """Only for dense X with an intercept. A column that is constant becomes zero exactly."""
    shift = np.zeros(X.shape[1])
    if fit_intercept and not sp.issparse(X):
        first = np.asarray(X[:1000], dtype=np.float64)
        low, high = first.min(axis=0), first.max(axis=0)
        far = np.maximum(np.abs(low), np.abs(high)) / FAR_FROM_ZERO > high / 2 - low / 2
        shift[far] = first[0, far]
    return shift


@dataclass
class ShiftedRows:
    """Rows sqrt(w) (x - shift) in double precision, part by part, and what goes with them."""

    X: Any  # dense, or CSR
    y: np.ndarray  # (n, q), about its shift, in its unit
    root_weight: np.ndarray | None  # None for ones
    shift: np.ndarray

    def parts(self, n_rows: int = 1) -> Iterator[slice]:
        """Slices of at least so many rows."""
        n, d = self.X.shape
        step = max(n_rows, -(-PART_NUMBERS // max(d, 1)))
        return (slice(start, start + step) for start in range(0, n, step))

    def at(self, part: slice) -> Any:
        """Return the rows of X; a view where they need not be changed, otherwise one copy."""
        X = self.X[part]
        roots = None if self.root_weight is None else self.root_weight[part, None]
        if sp.issparse(X):
            X = X.astype(np.float64, copy=False)
            return X if roots is None else sp.csr_matrix(X.multiply(roots))
        if self.shift.any():
            X = np.subtract(X, self.shift, dtype=np.float64, order="C")
            if roots is not None:
                X *= roots
            return X
        if roots is not None:
            return np.multiply(X, roots, dtype=np.float64, order="C")
        return np.ascontiguousarray(X, dtype=np.float64)

    def roots(self, part: slice) -> np.ndarray:
        """Return the square roots of the weights, a column."""
        n = len(self.y[part])
        return np.ones((n, 1)) if self.root_weight is None else self.root_weight[part, None]


# --- sums over rows -------------------------------------------------------------------------------


class SketchSums:
    """The sketches S (X, y) of several S, and the sums that their means need.

    The targets of a sketch are the columns sqrt(w) and sqrt(w) y: with S 1, the first of them, the
    sketch of the centred rows is S (X - 1 mean') = S X - (S 1) mean'.
    """

    def __init__(self, sketches: list[Sketch], frame: Frame) -> None:
        self.sketches, self.frame = sketches, frame
        self.n_rows, self.weight = 0, 0.0
        self.x_sum, self.y_sum = np.zeros_like(frame.x_shift), np.zeros_like(frame.y_shift)

    def add(self, rows: ShiftedRows, n_jobs: int | None) -> None:
        """Add the rows to all sums; the sketches in threads, a group of members each."""
        self.n_rows += rows.X.shape[0]
        for part in rows.parts():
            roots = rows.roots(part)[:, 0]
            self.weight += float(roots @ roots)
            with np.errstate(over="ignore", invalid="ignore"):  # refused with the sketches
                self.x_sum += rows.at(part).T @ roots
                self.y_sum += (roots**2) @ rows.y[part]
        in_groups(_add_to_sketches, self.sketches, n_jobs, rows)

    def closed(self) -> Self:
        """Return the same sums without more rows to come, which can be added to others."""
        self.sketches = [sketch.closed() for sketch in self.sketches]
        return self

    def __add__(self, other: Self) -> "SketchSums":
        """The sums over the rows of both, which have been closed, about the shifts of the first.

        The unit of y is the larger one, and no smaller than what lies between the shifts, so that
        neither y nor its squares overflow or vanish.
        """
        frame, others = self.frame, other.frame
        with np.errstate(over="ignore"):
            gap = np.abs(others.y_shift - frame.y_shift)
        if not np.isfinite(gap).all():
            raise ValueError("y has differences beyond the largest float; scale y.")
        gaps = [power_of_two(x) if x > 0 else NO_SPREAD for x in gap]
        unit = np.maximum(np.maximum(frame.y_unit, others.y_unit), gaps)
        total, more = (sums.moved(frame.in_units(unit)) for sums in (self, other))
        total.sketches = [a + b for a, b in zip(total.sketches, more.sketches)]
        total.n_rows += more.n_rows
        total.weight += more.weight
        total.x_sum += more.x_sum
        total.y_sum += more.y_sum
        return total

    def moved(self, frame: Frame) -> "SketchSums":
        """Return the same sums in another frame, as an object of its own."""
        x_change = self.frame.x_shift - frame.x_shift
        y_change = (self.frame.y_shift - frame.y_shift) / frame.y_unit
        y_factor = self.frame.y_unit / frame.y_unit
        moved = copy(self)
        moved.frame = frame
        moved.sketches = [one.mapped(x_change, y_factor, y_change) for one in self.sketches]
        moved.x_sum = self.x_sum + self.weight * x_change
        moved.y_sum = self.y_sum * y_factor + self.weight * y_change
        return moved

    def means(self, fit_intercept: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted means of X and y about their shifts; zero without an intercept."""
        if not fit_intercept:
            return np.zeros_like(self.x_sum), np.zeros_like(self.y_sum)
        return self.x_sum / self.weight, self.y_sum / self.weight


def _add_to_sketches(sketches: list[Sketch], rows: ShiftedRows) -> list[Any]:
    # The product with a part is as large as the sketch: parts of twice as many rows.
    with np.errstate(over="ignore", invalid="ignore"):
        for part in rows.parts(2 * sketches[0].size):
            X, roots = rows.at(part), rows.roots(part)
            targets = np.hstack([roots, roots * rows.y[part]])
            for sketch in sketches:  # all of them, while the part is in the cache
                sketch.add(X, targets)
    return []


def in_groups(task: Any, sketches: list[Sketch], n_jobs: int | None, *args: Any) -> list[Any]:
    """The results of `task(group, *args)` for groups of sketches in threads, in order."""
    n_groups = min(len(sketches), effective_n_jobs(n_jobs))
    if n_groups == 1:
        return task(sketches, *args)
    bounds = np.linspace(0, len(sketches), n_groups + 1).astype(int)
    groups = [sketches[a:b] for a, b in itertools.pairwise(bounds)]
    parallel = Parallel(n_jobs=n_groups, require="sharedmem")  # sketches are changed in place
    return list(itertools.chain(*parallel(delayed(task)(group, *args) for group in groups)))


class Plan(NamedTuple):
    """The sketches of all blocks have this in common."""

    kind: type[Sketch]
    size: int
    # One for each sketch; a block's random numbers are those of the seed and its number. Number 0
    # gives those of the seed alone: a fit in memory is that of a single chunk.
    seeds: Sequence[int]
    n_jobs: int | None  # threads for a block
    is_only: bool  # one block, in memory: what is not added to others need not be closed

    def sketches(self, block: "Block") -> list[Any]:
        d, q = block.rows.X.shape[1], block.rows.y.shape[1]
        n = block.number  # 0 in memory, where one number seeds faster than two
        return [self.kind([seed, n] if n else seed, self.size, d, q + 1) for seed in self.seeds]

    def sums(self, block: "Block", sketches: list[Sketch]) -> SketchSums:
        sums = SketchSums(sketches, block.frame)
        sums.add(block.rows, self.n_jobs)
        return sums if self.is_only else sums.closed()


class Block(NamedTuple):
    """A block of rows about its own shifts."""

    number: int
    frame: Frame
    rows: ShiftedRows

    @classmethod
    def of(cls, chunk: Rows, fit_intercept: bool) -> "Block":
        frame = Frame.of(chunk.X, chunk.y, fit_intercept, NO_SPREAD)
        return cls(chunk.block, frame, frame.rows(chunk.X, chunk.y, chunk.weight))

    def without_targets(self) -> "Block":
        rows = ShiftedRows(self.rows.X, self.rows.y[:, :0], self.rows.root_weight, self.rows.shift)
        return Block(self.number, Frame(rows.shift, np.zeros(0), np.ones(0), False), rows)


def sums_of_rows(
    rows: BlockedRows,
    kind: str,
    size: int,
    seeds: Sequence[int],
    fit_intercept: bool,
    n_jobs: int | None = None,
) -> SketchSums:
    """The sums over all rows are taken in one pass; in three passes for leverage scores.

    In memory no more rows than a sketch has are the only sketch themselves. `n_jobs` counts threads
    in memory; a chunk of a Dask collection is the work of one of Dask's.
    """
    is_only = rows.is_in_memory
    if is_only:
        n = rows.each(len)[0]
        if n <= size:
            all_rows = Plan(AllRows, n, seeds[:1], 1, is_only)
            return rows.view(Block.of, fit_intercept).sum(_sketched, all_rows)
    plan = Plan(SKETCHES[kind], size, seeds, n_jobs if is_only else 1, is_only)
    blocks = rows.view(Block.of, fit_intercept)
    if plan.kind.oblivious:
        return blocks.sum(_sketched, plan)
    scored, draws = _leverage_draws(blocks, plan, fit_intercept)
    return scored.sum(_drawn, plan, draws)


def _sketched(block: Block, plan: Plan) -> SketchSums:
    return plan.sums(block, plan.sketches(block))


# --- rows drawn by leverage -----------------------------------------------------------------------


class LeverageDraws(NamedTuple):
    """The draws from all blocks have this in common."""

    total: float  # the sum of the leverage scores of all rows
    n_rows: float
    shares: np.ndarray  # of the draws, by the number of the block
    counts: np.ndarray  # (m, n_blocks): how many rows each sketch draws from each block


def _leverage_draws(
    blocks: BlockedRows, plan: Plan, fit_intercept: bool
) -> tuple[BlockedRows, LeverageDraws]:
    """Return the blocks with the leverage scores of their rows, and how many of each are drawn.

    The score of a row x is about ||R^-T x||^2, with the triangle R of a count sketch of 4 d rows
    [Drineas et al., 2012]; for more than 16 columns the norm is that of 16 Gaussian projections.
    O(n d + d^3 + 16 n d), in two passes over the rows: for R and for the sums of the scores.
    """
    seed = int(np.random.default_rng(plan.seeds[0]).integers(MAX_SEED))
    size = max(4 * blocks.n_features, LEVERAGE_COLUMNS)
    sums = blocks.view(Block.without_targets).sum(
        _sketched, Plan(CountSketch, size, [seed], 1, plan.is_only)
    )
    x_mean, _ = sums.means(fit_intercept)
    _, gram = sketched_solution(*centred_sketch(sums.sketches[0], x_mean, np.zeros(0)), 0.0)
    M = gram.inverse_factor()
    if M.shape[1] > LEVERAGE_COLUMNS:
        M = M @ np.random.default_rng(seed).standard_normal((M.shape[1], LEVERAGE_COLUMNS))
        M /= LEVERAGE_COLUMNS**0.5
    scored = blocks.view(_with_scores, sums.frame.x_shift, x_mean, M)
    found = np.array([one or (0.0, 0) for one in scored.each(_sum_of_scores)])
    total, n_rows = found.sum(axis=0)
    if plan.is_only:  # what follows would find it too, in a tenth of the time of a small fit
        counts = np.full((len(plan.seeds), 1), plan.size)
        return scored, LeverageDraws(total, n_rows, np.ones(1), counts)
    shares = _mixed(found[:, 0], found[:, 1], total, n_rows)
    draws = [np.random.default_rng(seed).multinomial(plan.size, shares) for seed in plan.seeds]
    return scored, LeverageDraws(total, n_rows, shares, np.array(draws))


def _with_scores(
    block: Block, shift: np.ndarray, x_mean: np.ndarray, M: np.ndarray
) -> tuple[Block, np.ndarray]:
    rows = ShiftedRows(block.rows.X, block.rows.y[:, :0], block.rows.root_weight, shift)
    scores = CentredRows(rows, x_mean, np.zeros(0)).squared_norms(M)
    return block, np.minimum(scores, 1.0)


def _sum_of_scores(scored: tuple[Block, np.ndarray]) -> tuple[float, int]:
    return float(scored[1].sum()), len(scored[1])


def _mixed(scores: np.ndarray, lengths: Any, total: float, n_rows: float) -> np.ndarray:
    """Probabilities, among all rows, of rows or blocks with these (sums of) scores and lengths."""
    uniform = np.asarray(lengths) / n_rows
    if total <= 0:
        return np.broadcast_to(uniform, scores.shape)
    return scores / total * (1 - UNIFORM_SHARE) + uniform * UNIFORM_SHARE


def _drawn(scored: tuple[Block, np.ndarray], plan: Plan, draws: LeverageDraws) -> SketchSums:
    block, scores = scored
    share = draws.shares[block.number]
    probability = _mixed(scores, 1, draws.total, draws.n_rows) / share
    sketches = plan.sketches(block)
    if plan.is_only:  # its first generator drew the seed of the scores, and goes on after it
        sketches[0].rng.integers(MAX_SEED)
    for sketch, count in zip(sketches, draws.counts[:, block.number]):
        sketch.draw(probability, int(count), share)
    return plan.sums(block, sketches)


# --- the small problems ---------------------------------------------------------------------------


def member_solutions(
    sketches: list[Sketch], x_mean: np.ndarray, y_mean: np.ndarray, alpha: float, keeps_gram: bool
) -> list[tuple[np.ndarray, int, "SketchedGram | None"]]:
    """(coefficients of shape (d, q), rank, what the refinement needs) of these members."""
    results = []
    for sketch in sketches:
        theta, gram = sketched_solution(*centred_sketch(sketch, x_mean, y_mean), alpha)
        results.append((theta, gram.rank, gram if keeps_gram else None))
    return results


def centred_sketch(
    sketch: Sketch, x_mean: np.ndarray, y_mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sketch of the centred rows, S (X - 1 mean') and S (y - 1 mean')."""
    with np.errstate(over="ignore"):
        A, B = sketch.result()
    check_sums(x_mean, y_mean, A, B)
    ones, B = B[:, :1], np.ascontiguousarray(B[:, 1:])
    # Columns of which nothing but rounding is left were constant, and are zero exactly.
    if x_mean.any():
        A -= ones * x_mean
        cancelled = np.abs(A).max(axis=0) <= CANCELLED * np.abs(ones).max() * np.abs(x_mean)
        A[:, cancelled] = 0
    if y_mean.any():
        B -= ones * y_mean
    return A, B


def check_sums(*sums: np.ndarray) -> None:
    """ValueError if a sum over rows has overflowed."""
    if not all(np.isfinite(values).all() for values in sums):
        raise ValueError("X or y has values so large that sums over rows overflow.")


def sketched_solution(
    A: np.ndarray, B: np.ndarray, alpha: float
) -> tuple[np.ndarray, "SketchedGram"]:
    """Return argmin ||B - A theta||^2 + alpha ||theta||^2 of the smallest norm; overwrites A and B.

    Also the Gram matrix A'A + alpha I, in factors. A ValueError says that sums of rows overflowed.

    O(s d^2), by a QR decomposition of (A, B), with columns in units of about their size.
    """
    s, d = A.shape
    check_sums(A, B)
    scale = np.array([power_of_two(x) for x in np.abs(A).max(axis=0, initial=0.0)])
    y_scale = np.array([power_of_two(x) for x in np.abs(B).max(axis=0, initial=0.0)])
    A /= scale
    B /= y_scale
    # One decomposition of (A, B): its triangle holds R and the targets turned by Q'.
    triangle: Any = np.linalg.qr(np.hstack([A, B]), mode="r")
    if alpha > 0:
        with np.errstate(over="ignore", under="ignore"):
            penalty = np.sqrt(alpha) / scale
        if not np.isfinite(penalty).all():
            raise ValueError("alpha is too large for the scale of X: sqrt(alpha) / X overflows.")
        # A penalty is d more rows, with targets 0.
        below = np.hstack([np.diag(penalty), np.zeros((d, B.shape[1]))])
        triangle = np.linalg.qr(np.vstack([triangle, below]), mode="r")
    R, z = triangle[:d, :d], triangle[:d, d:]
    gram = SketchedGram(R, scale, s)
    with np.errstate(over="ignore", invalid="ignore"):
        return gram.least_squares(z) * y_scale, gram


class SketchedGram:
    """The matrix A'A + alpha I, as the product D R'R D of a small factor with itself.

    `R` (r, d) is triangular (trapezoidal for r < d), `scale` (d,) the diagonal of D, powers of 2,
    and `n_rows` the number of rows of A; `rank` is the numerical rank.
    """

    def __init__(self, R: np.ndarray, scale: np.ndarray, n_rows: int) -> None:
        d = len(scale)
        self.factor, self.scale, self.rank = R, scale, d
        # R is its own triangular factor; `dtrcon` is missing in SciPy 1.10.
        norm = np.abs(R).sum(axis=0).max(initial=0.0)
        self.triangular = R.shape[0] == d and lapack.dgecon(R, norm)[0] > SMALLEST_RCOND
        if not self.triangular:
            # The solution of the smallest norm in the units of X.
            self.unit = scale.max(initial=0.0) or 1.0
            U, values, V = np.linalg.svd(R * (scale / self.unit), full_matrices=False)
            tol = 10 * np.finfo(float).eps * max(n_rows, d) * values.max(initial=0.0)
            self.rank = int((values > tol).sum())
            self.values = values[: self.rank, None]
            self.U, self.V = U[:, : self.rank], V[: self.rank]

    def solve(self, g: np.ndarray) -> np.ndarray:
        """Return the solution of (A'A + alpha I) x = g, of smallest norm; g of shape (d, q)."""
        if self.triangular:
            half = solve_triangular(self.factor, g / self.scale[:, None], trans="T")
            return solve_triangular(self.factor, half) / self.scale[:, None]
        turned = (self.V @ (g / self.unit)) / self.values**2
        return (self.V.T @ turned) / self.unit

    def least_squares(self, z: np.ndarray) -> np.ndarray:
        """argmin ||z - R D x||^2, of smallest norm; z of shape (r, q). Infinite if it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.triangular:
                return solve_triangular(self.factor, z) / self.scale[:, None]
            return (self.V.T @ ((self.U.T @ z) / self.values)) / self.unit

    def inverse_factor(self) -> np.ndarray:
        """M with M M' the (pseudo)inverse of the matrix: ||M'x||^2 is the leverage of a row x."""
        with np.errstate(over="ignore"):
            if self.triangular:
                M = solve_triangular(self.factor, np.eye(self.rank)) / self.scale[:, None]
            else:
                M = self.V.T / self.values[:, 0] / self.unit
        if not np.isfinite(M).all():
            raise ValueError("X is so small that its leverage scores overflow; scale X.")
        return M


# --- the refinement -------------------------------------------------------------------------------


class CentredRows:
    """The matrix Phi of rows sqrt(w) (x - mean) of one block, and residuals y - Phi theta."""

    def __init__(self, rows: ShiftedRows, x_mean: np.ndarray, y_mean: np.ndarray) -> None:
        self.rows = rows
        self.mean = x_mean  # about the shift
        self.targets = rows.roots(slice(None)) * (rows.y - y_mean)
        self.residual = self.moved = np.empty(0)

    @classmethod
    def of(cls, chunk: Rows, frame: Frame, x_mean: np.ndarray, y_mean: np.ndarray) -> "CentredRows":
        return cls(frame.rows(chunk.X, chunk.y, chunk.weight), x_mean, y_mean)

    def start(self, theta: np.ndarray) -> np.ndarray:
        """Phi'(y - Phi theta)."""
        self.residual = self.targets - self.times(theta)
        return self.transposed_times(self.residual)

    def squares(self, direction: np.ndarray) -> np.ndarray:
        """||Phi direction||^2, for each target."""
        self.moved = self.times(direction)
        return (self.moved**2).sum(axis=0)

    def step(self, length: np.ndarray) -> np.ndarray:
        """Phi'(y - Phi theta) at `length` further along the last direction."""
        self.residual -= length * self.moved
        return self.transposed_times(self.residual)

    def along(self, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Phi'(y - Phi theta), Phi'Phi direction and the squares, in one array that adds up."""
        gradient, squares = self.start(theta), self.squares(direction)
        return np.vstack([gradient, self.transposed_times(self.moved), squares])

    def times(self, theta: np.ndarray) -> np.ndarray:
        out = np.empty((self.rows.X.shape[0], theta.shape[1]))
        offset = self.mean @ theta
        for part in self.rows.parts():
            out[part] = self.rows.at(part) @ theta - self.rows.roots(part) * offset
        return out

    def transposed_times(self, r: np.ndarray) -> np.ndarray:
        out = np.zeros((self.rows.X.shape[1], r.shape[1]))
        total = np.zeros(r.shape[1])
        for part in self.rows.parts():
            out += self.rows.at(part).T @ r[part]
            total += self.rows.roots(part)[:, 0] @ r[part]
        return out - np.outer(self.mean, total)

    def squared_norms(self, M: np.ndarray) -> np.ndarray:
        """||row M||^2 of every row of Phi."""
        out = np.empty(self.rows.X.shape[0])
        offset = self.mean @ M
        for part in self.rows.parts():
            turned = self.rows.at(part) @ M - self.rows.roots(part) * offset
            out[part] = np.einsum("ij,ij->i", turned, turned)
        return out


def refined(
    theta: np.ndarray,
    grams: list[SketchedGram],
    rows: BlockedRows,
    alpha: float,
    n_steps: int,
) -> np.ndarray:
    """Conjugate gradients on all rows, preconditioned by the mean of the sketched inverses.

    The first step goes to the minimum of ||y - Phi theta||^2 + alpha ||theta||^2 along the mean of
    the directions (Phi'S'S Phi + alpha I)^-1 Phi'(y - Phi theta). theta has the shape (d, q), and
    the blocks of `rows` are seen as `CentredRows`. O(n d q + m d^2 q) a step.
    """
    d = len(theta)
    gradient = rows.sum(CentredRows.start, theta) - alpha * theta
    direction: Any = None
    slope_before: Any = None
    # Preconditioned conjugate gradients, with a recursion of its own for each target.
    for _ in range(n_steps):
        step = sum(gram.solve(gradient) for gram in grams) / len(grams)
        slope = (gradient * step).sum(axis=0)
        if direction is None:
            direction = step
        else:
            # Where the slope no longer falls, what is left is rounding: start again.
            falls = slope < slope_before
            share = np.divide(slope, slope_before, out=np.zeros_like(slope), where=falls)
            direction = step + share * direction
        # In memory the residuals are kept, and a step is two products with X. Elsewhere reading X
        # is what costs: one pass of four products, with residuals that are made again, so that the
        # gradient follows for any length, nothing of the rows is kept and rounding does not add up.
        if rows.is_in_memory:
            squares = rows.sum(CentredRows.squares, direction)
        else:
            sums = rows.sum(CentredRows.along, theta, direction)
            gradient_here, change, squares = sums[:d], sums[d : 2 * d], sums[-1]
        curvature = squares + ((alpha**0.5 * direction) ** 2).sum(axis=0)
        descent = (gradient * direction).sum(axis=0)
        length = np.divide(descent, curvature, out=np.zeros_like(slope), where=curvature > 0)
        theta = theta + length * direction
        if rows.is_in_memory:
            gradient = rows.sum(CentredRows.step, length) - alpha * theta
        else:
            gradient = gradient_here - length * change - alpha * theta
        slope_before = slope
    return theta
