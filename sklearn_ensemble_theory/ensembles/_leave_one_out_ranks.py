"""Exact order statistics of the leave-one-out predictions of an ensemble.

Let t_b be the predictions of B members at a query, o_i the set of the members that are not fitted
to row i, and mu_i the mean of t_b over o_i. For numbers R_i the k-th smallest of mu_i + R_i is
needed, over all n rows and for each query. The sums over o_i are looked up in tables of the sums of
eight members (`LookedUpSums`). Where rounding would leave many rows to compare, they are n B
multiplications a query in single precision (`multiply`). Both are computed again in double
precision for the few rows that rounding could have put on the wrong side.
"""

import numpy as np

from sklearn_ensemble_theory._native import inference
from sklearn_ensemble_theory.ensembles._training_rows import (
    OutsideMasks,
)

# Sums that are held at once: 16 MB of products in single precision, 128 MB from tables.
MULTIPLIED = 2**22
LOOKED_UP = 2**26
# Entries of the mask that are held as numbers at once: 128 MB.
MASK = 2**25
# Rows and members that are computed again at once.
AGAIN = 2**21
# Rows of a query that are computed again; where there are more, all of them are.
MOST = 256
LARGEST = 2.0**15 - 1
# The shares of the bytes after which rows that are decided are left out.
STEPS = (0.0, 0.25, 0.45, 0.6, 0.75, 0.9, 1.0)
EVERYWHERE = np.array([[-np.inf, np.inf]] * 2)


def order_statistics(
    masks: OutsideMasks, predictions: np.ndarray, residuals: np.ndarray, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """The `rank`-th smallest mu_i + R_i, and the `rank`-th largest mu_i - R_i, for each query.

    Predictions are (q, B), residuals R_i, of any sign, (n,). A row without a member outside counts
    as an infinite residual. O(q n B / 8) additions of small integers, or O(q n B) multiplications
    in single precision where rounding would leave many rows to compare; O(q n) memory in blocks of
    queries.
    """
    known = masks.counts > 0
    inverse = np.divide(1.0, masks.counts, out=np.zeros(len(masks)), where=known)
    residuals = np.where(known, residuals, np.inf)
    block = _CentredQueries(masks, predictions, residuals, inverse, rank)
    looked_up = LookedUpSums(masks, block.centred, block.residuals, inverse, rank)
    if looked_up.is_worth_it:
        return block.from_tables(looked_up)
    q = len(predictions)
    upper, lower = np.empty(q), np.empty(q)
    whole = (
        masks.numbers(slice(None), np.float32).T if len(masks) * masks.n_members < MASK else None
    )
    step = max(16, MULTIPLIED // len(masks))
    sums = np.empty((min(step, q), len(masks)), dtype=np.float32)
    for start in range(0, q, step):
        part = predictions[start : start + step]
        block = _CentredQueries(masks, part, residuals, inverse, rank)
        block.multiply(whole, sums[: len(part)])
        upper[start : start + step] = block.upper_end(1.0)
        lower[start : start + step] = -block.upper_end(-1.0)
    return upper, lower


class _CentredQueries:
    """A block of queries; predictions are centred, so that rounding is small, and scaled."""

    def __init__(
        self,
        masks: OutsideMasks,
        predictions: np.ndarray,
        residuals: np.ndarray,
        inverse: np.ndarray,
        rank: int,
    ) -> None:
        self.masks, self.inverse, self.rank = masks, inverse, rank
        finite = residuals[np.isfinite(residuals)]
        size = max(predictions.max(), -predictions.min(), np.max(np.abs(finite), initial=0.0))
        # A power of 2: nothing is rounded.
        self.scale = float(np.ldexp(1.0, int(np.frexp(size)[1]) + 1)) if size > 0 else 1.0
        self.centred = predictions / self.scale
        self.centre = self.centred.mean(axis=1)
        self.centred -= self.centre[:, None]
        self.residuals = residuals / self.scale

    def multiply(self, whole: np.ndarray | None, sums: np.ndarray) -> None:
        """sum_b m_ib t_b of all queries and rows."""
        t = self.centred.astype(np.float32)
        self.sums = sums
        # A sum of B terms in any order, the rounding of the terms, of R and of the last sum.
        unit, B = 2.0**-24, t.shape[1]
        error = (B + 4) * unit * np.abs(t).sum(axis=1, dtype=np.float64) * self.inverse.max()
        finite = self.residuals[np.isfinite(self.residuals)]
        # Twice, as both the number found and a row's own may be off.
        error = 2 * error + 16 * unit * (np.max(np.abs(finite), initial=0.0) + 1e-30)
        self.error = error.astype(np.float32)
        if whole is not None:
            np.matmul(t, whole, out=sums)
            return
        step = max(1, MASK // B)
        for start in range(0, len(self.masks), step):
            rows = slice(start, start + step)
            sums[:, rows] = t @ self.masks.numbers(rows, np.float32).T

    def from_tables(self, looked_up: "LookedUpSums") -> tuple[np.ndarray, np.ndarray]:
        """Both order statistics, in the units of the predictions."""
        upper, lower, many = looked_up.ends()
        if many.any():
            upper[many] = self._from_all_rows(many, 1.0)
            lower[many] = self._from_all_rows(many, -1.0)
        return (upper + self.centre) * self.scale, (self.centre - lower) * self.scale

    def upper_end(self, sign: float) -> np.ndarray:
        """Return the `rank`-th smallest of sign mu_i + R_i, in the units of the predictions."""
        inverse = (sign * self.inverse).astype(np.float32)
        residuals = self.residuals.astype(np.float32)
        # The rows that rounding in single precision leaves in doubt, and how many are below them.
        below, near, rows = rows_near(self.sums, inverse, residuals, self.rank, self.error)
        many = near > MOST
        near[many] = 0
        query = np.repeat(np.arange(len(self.sums)), near)
        row = rows[np.arange(MOST) < near[:, None]]
        # Of these the number looked for is found in double precision.
        ends = np.empty(len(self.sums))
        value = sign * self._means(query, row) + self.residuals[row]
        order = np.lexsort((value, query))
        first = np.searchsorted(query[order], np.arange(len(ends)))
        single = np.flatnonzero(~many)
        ends[single] = value[order[first[single] + self.rank - 1 - below[single]]]
        if many.any():
            ends[many] = self._from_all_rows(many, sign)
        return (ends + sign * self.centre) * self.scale

    def _means(self, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        means = np.empty(len(query))
        step = max(1, AGAIN // self.masks.n_members)
        for start in range(0, len(query), step):
            i, j = row[start : start + step], query[start : start + step]
            products = np.einsum("ib,ib->i", self.masks.numbers(i), self.centred[j])
            means[start : start + step] = products * self.inverse[i]
        return means

    def _from_all_rows(self, queries: np.ndarray, sign: float) -> np.ndarray:
        """Return the end by all rows in double precision, for queries at which many numbers tie."""
        t = self.centred[queries]
        value = np.empty((len(t), len(self.masks)))
        step = max(1, MASK // (2 * t.shape[1]))
        for start in range(0, len(self.masks), step):
            rows = slice(start, start + step)
            value[:, rows] = t @ self.masks.numbers(rows).T
        value *= sign * self.inverse
        value += self.residuals
        return np.partition(value, self.rank - 1, axis=1)[:, self.rank - 1]


def rows_near(
    sums: np.ndarray, inverse: np.ndarray, residuals: np.ndarray, rank: int, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows within `error` of the `rank`-th smallest sums * inverse + residuals.

    For each of q queries: how many rows are certainly smaller than those returned, how many are
    near, and these, (q, MOST), not complete where they are more.
    """
    q = len(sums)
    # Where the search begins: the rows differ by their residuals more than by their means.
    start = np.partition(residuals, rank - 1)[rank - 1]
    start = float(start) if np.isfinite(start) else 0.0
    below, near, rows = (np.empty(shape, dtype=np.int64) for shape in (q, q, (q, MOST)))
    inference.rows_near_rank(sums, inverse, residuals, rank, start, error, below, near, rows)
    return below, near, rows


# --- sums from tables -----------------------------------------------------------------------------


class LookedUpSums:
    """The order statistics of the queries of one call, from tables of sums.

    The sums of the predictions outside of each row are looked up, eight members at a time, in
    integers of 16 bits whose rounding is bounded. The extremes of a row over a block of queries
    tell most rows to be on one side of all order statistics of the block; the others are compared
    query by query, and those near an order statistic again in double precision. What the first step
    takes for granted is checked afterwards, so that the result is exact.

    `centred` (q, B) are predictions minus their mean for each query, in units in which all numbers
    are below 1. `residuals` (n,) are in the same units, infinite for rows that all members are
    fitted to; `inverse` (n,) is one over the number of members outside, 0 where there is none.
    """

    def __init__(
        self,
        masks: OutsideMasks,
        centred: np.ndarray,
        residuals: np.ndarray,
        inverse: np.ndarray,
        rank: int,
    ) -> None:
        self.masks, self.centred, self.rank = masks, centred, rank
        self.residuals, self.inverse = residuals, inverse
        # No sum of some of the centred predictions is beyond half the sum of their sizes.
        self.largest = 0.5 * np.abs(centred).sum(axis=1) * (1 + 1e-9) + 1e-30
        finite = residuals[np.isfinite(residuals)]
        self.rounding = 16 * 2.0**-24 * (np.max(np.abs(finite), initial=0.0) + 1e-30)

    def unit_and_error(self, largest: float) -> tuple[float, float]:
        """Return what an integer stands for, and how far a mean plus a residual may be off."""
        G = self.masks.bits.shape[1]
        unit = largest / (LARGEST - 1 - G) if LARGEST > 2 + G else np.inf
        # Half a unit for each byte, and a unit for what is computed in single precision.
        return unit, (0.5 * G + 1) * unit * self.inverse.max() + self.rounding

    @property
    def is_worth_it(self) -> bool:
        """Whether few rows are computed again, and the sums fit into memory."""
        at = np.partition(self.residuals, self.rank - 1)[self.rank - 1]
        _, error = self.unit_and_error(self.largest.max())
        if not np.isfinite(at) or not np.isfinite(error):
            return False
        n_near = np.count_nonzero(np.abs(self.residuals - at) <= 2 * error)
        return bool(n_near <= MOST and len(self.residuals) * inference.LANES <= LOOKED_UP)

    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the `rank`-th smallest mu_i + R_i, and -mu_i + R_i, of centred predictions.

        And where they are not found, as many rows are near one of them.
        """
        lanes, n_bytes = inference.LANES, inference.BYTES
        n, G = self.masks.bits.shape
        padded = -(-G // n_bytes) * n_bytes
        codes = np.zeros((padded, n), dtype=np.uint8)
        codes[:G] = self.masks.bits.T
        tables = np.zeros((padded, 256, lanes), dtype=np.int16)
        sums = np.empty((n, lanes), dtype=np.int16)
        q, B = self.centred.shape
        ends, many = np.empty((2, q)), np.zeros(q, dtype=bool)
        bands = EVERYWHERE
        # Queries of similar size share a unit.
        order = np.argsort(self.largest)
        for start in range(0, q, lanes):
            part = order[start : start + lanes]
            block = _TableBlock(*self.unit_and_error(self.largest[part].max()), len(part))
            block.t = np.zeros((8 * padded, lanes))
            block.t[:B, : len(part)] = self.centred[part].T
            inference.byte_tables(block.t, block.unit, tables[:G])
            # The ends of the block before tell which rows are likely to matter for this one.
            found = self._ends_in(bands, block, tables, codes, sums)
            if found is None:
                found = self._ends_in(EVERYWHERE, block, tables, codes, sums)
            assert found is not None  # with all rows there is nothing to check
            ends[:, part], many[part] = found
            bands = np.array([_band(values) for values in found[0]])
        return ends[0], ends[1], many

    def _ends_in(
        self,
        bands: np.ndarray,
        block: "_TableBlock",
        tables: np.ndarray,
        codes: np.ndarray,
        sums: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Both ends of a block of queries; None where one of them is not inside its band."""
        G = len(codes)
        # What the bytes from here on can add, and take away, at most.
        by_byte = block.t.reshape(G, 8, -1)
        rest_up = np.maximum(by_byte, 0).sum(axis=1)[::-1].cumsum(axis=0)[::-1].max(axis=1)
        rest_down = np.maximum(-by_byte, 0).sum(axis=1)[::-1].cumsum(axis=0)[::-1].max(axis=1)
        sums[:] = 0
        rows, below = np.arange(len(sums), dtype=np.int64), np.zeros(2, dtype=np.int64)
        n_bytes, first = inference.BYTES, 0
        # Rows leave as soon as no value of the bytes to come can bring them near an end.
        for last in [n_bytes * round(share * G / n_bytes) for share in STEPS]:
            inference.add_tables(tables, codes, rows, first, last, sums)
            first = last
            rest = (rest_up[last], rest_down[last]) if last < G else (0.0, 0.0)
            n_left = inference.undecided(
                sums, rows, block.unit, self.inverse, self.residuals, *rest, bands, below
            )
            rows = rows[:n_left]
        turned = np.empty((block.size, len(rows)), dtype=np.float32)
        inference.turn(sums, rows, block.unit, turned)
        t = np.ascontiguousarray(block.t[: 8 * self.masks.bits.shape[1], : block.size].T)
        ends, many = np.empty((2, block.size)), np.zeros(block.size, dtype=bool)
        for side, (lowest, highest) in enumerate(bands):
            rank = self.rank - int(below[side])
            if not 1 <= rank <= len(rows):
                return None
            sign = 1.0 - 2.0 * side
            ends[side], too_many = self._end(turned, t, rows, sign, rank, block.error)
            inside = ends[side] >= lowest + block.error
            inside &= ends[side] <= highest - block.error
            if not (inside | too_many).all():
                return None
            many |= too_many
        return ends, many

    def _end(
        self,
        sums: np.ndarray,
        t: np.ndarray,
        kept: np.ndarray,
        sign: float,
        rank: int,
        error: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The `rank`-th smallest sign mu_i + R_i of the rows kept, and where too many are near."""
        signed = sign * self.inverse
        # Twice, as both the number found and a row's own may be off.
        errors = np.full(len(t), 2 * error, dtype=np.float32)
        single = signed[kept].astype(np.float32), self.residuals[kept].astype(np.float32)
        below, near, rows = rows_near(sums, *single, rank, errors)
        many = near > MOST
        ends = np.full(len(t), np.nan)
        near[many] = 0
        inference.exact_order_statistics(
            self.masks.bits, t, signed, self.residuals, kept, rows, near, rank - 1 - below, ends
        )
        return ends, many


class _TableBlock:
    """A block of queries: their predictions, one column each, and the unit of their sums."""

    t: np.ndarray

    def __init__(self, unit: float, error: float, size: int) -> None:
        self.unit, self.error, self.size = unit, error, size


def _band(values: np.ndarray) -> tuple[float, float]:
    """Where the order statistics of the next queries probably are."""
    values = values[np.isfinite(values)]
    if not len(values):
        return -np.inf, np.inf
    low, high = float(values.min()), float(values.max())
    margin = 0.5 * (high - low) + 1e-6
    return low - margin, high + margin
