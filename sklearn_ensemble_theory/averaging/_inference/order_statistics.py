"""Exact order statistics of the leave-one-out predictions of an ensemble.

Let t_b be the predictions of B members at a query, o_i the set of the members that are not fitted
to row i, and mu_i the mean of t_b over o_i. For numbers R_i the k-th smallest of mu_i + R_i is
needed, over all n rows and for each query. The sums over o_i are looked up in tables of the sums of
eight members (`looked_up_sums.py`); without numba, and where rounding would leave many rows to
compare, they are n B multiplications a query in single precision. Both are computed again in double
precision for the few rows that rounding could have put on the wrong side.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.averaging._inference.looked_up_sums import (
    MOST,
    LookedUpSums,
    rows_near,
)

# Sums that are held at once, in single precision: 16 MB.
SUMS = 2**22
# Entries of the mask that are held as numbers at once: 128 MB.
MASK = 2**25
# Rows and members that are computed again at once.
AGAIN = 2**21


class OutsideMasks:
    """Which members are not fitted to which rows, as bits.

    Parameters
    ----------
    n : int
        Number of training rows.
    draws : iterable of int arrays
        The rows that each of the B members is fitted to.
    rows : int array or None
        The rows that count; None for all of them.
    """

    def __init__(self, n: int, draws: list[np.ndarray], rows: np.ndarray | None = None) -> None:
        self.n_members = len(draws)
        keep = np.arange(n) if rows is None else rows
        self.bits = np.zeros((len(keep), -(-len(draws) // 8)), dtype=np.uint8)
        self.counts = np.zeros(len(keep))
        for byte in range(self.bits.shape[1]):
            block = draws[8 * byte : 8 * byte + 8]
            outside = np.ones((n, len(block)), dtype=bool)
            for b, drawn in enumerate(block):
                outside[drawn, b] = False
            self.bits[:, byte] = np.packbits(outside, axis=1)[keep, 0]
            self.counts += outside[keep].sum(axis=1)

    def __len__(self) -> int:
        return len(self.bits)

    def numbers(self, rows: slice | np.ndarray, dtype: type = np.float64) -> np.ndarray:
        """The mask of these rows, of shape (rows, B)."""
        return np.unpackbits(self.bits[rows], axis=1, count=self.n_members).astype(dtype)


def order_statistics(
    masks: OutsideMasks, predictions: np.ndarray, residuals: np.ndarray, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """The `rank`-th smallest mu_i + R_i, and the `rank`-th largest mu_i - R_i, for each query.

    Parameters
    ----------
    masks : OutsideMasks of n rows and B members
    predictions : float64 array of shape (q, B)
    residuals : float64 array of shape (n,)
        R_i >= 0. A row without a member outside counts as an infinite one.
    rank : int
        From 1 to n.

    Returns
    -------
    upper, lower : arrays of shape (q,)

    Notes
    -----
    Cost: O(q n B / 8) additions of small integers with numba, O(q n B) multiplications in single
    precision without; O(q n) memory in blocks of queries.
    """
    known = masks.counts > 0
    inverse = np.divide(1.0, masks.counts, out=np.zeros(len(masks)), where=known)
    residuals = np.where(known, residuals, np.inf)
    if uses_numba():
        block = _Block(masks, predictions, residuals, inverse, rank)
        looked_up = LookedUpSums(masks, block.centred, block.residuals, inverse, rank)
        if looked_up.is_worth_it:
            return block.from_tables(looked_up)
    q = len(predictions)
    upper, lower = np.empty(q), np.empty(q)
    whole = (
        masks.numbers(slice(None), np.float32).T if len(masks) * masks.n_members < MASK else None
    )
    step = max(16, SUMS // len(masks))
    sums = np.empty((min(step, q), len(masks)), dtype=np.float32)
    for start in range(0, q, step):
        part = predictions[start : start + step]
        block = _Block(masks, part, residuals, inverse, rank)
        block.multiply(whole, sums[: len(part)])
        upper[start : start + step] = block.upper_end(1.0)
        lower[start : start + step] = -block.upper_end(-1.0)
    return upper, lower


class _Block:
    """A block of queries; predictions are centred and divided by `scale`."""

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
        size = max(np.max(np.abs(predictions)), np.max(finite, initial=0.0))
        # A power of 2: nothing is rounded.
        self.scale = float(np.ldexp(1.0, int(np.frexp(size)[1]) + 1)) if size > 0 else 1.0
        scaled = predictions / self.scale
        self.centre = scaled.mean(axis=1)
        self.centred = scaled - self.centre[:, None]
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
        error = 2 * error + 16 * unit * (np.max(finite, initial=0.0) + 1e-30)
        self.error = error.astype(np.float32)
        if whole is not None:
            np.matmul(t, whole, out=sums)
            return
        step = max(1, MASK // B)
        for start in range(0, len(self.masks), step):
            rows = slice(start, start + step)
            sums[:, rows] = t @ self.masks.numbers(rows, np.float32).T

    def from_tables(self, looked_up: LookedUpSums) -> tuple[np.ndarray, np.ndarray]:
        """Both order statistics, in the units of the predictions."""
        upper, lower, many = looked_up.ends()
        if many.any():
            upper[many] = self._from_all_rows(many, 1.0)
            lower[many] = self._from_all_rows(many, -1.0)
        return (upper + self.centre) * self.scale, (self.centre - lower) * self.scale

    def upper_end(self, sign: float) -> np.ndarray:
        """The `rank`-th smallest of sign mu_i + R_i, in the units of the predictions."""
        inverse = (sign * self.inverse).astype(np.float32)
        residuals = self.residuals.astype(np.float32)
        find = _rows_near_compiled if uses_numba() else _rows_near_by_arrays
        below, query, row, many = find(self.sums, inverse, residuals, self.rank, self.error)
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
        """The means of the centred predictions of these queries outside of these rows."""
        means = np.empty(len(query))
        step = max(1, AGAIN // self.masks.n_members)
        for start in range(0, len(query), step):
            i, j = row[start : start + step], query[start : start + step]
            products = np.einsum("ib,ib->i", self.masks.numbers(i), self.centred[j])
            means[start : start + step] = products * self.inverse[i]
        return means

    def _from_all_rows(self, queries: np.ndarray, sign: float) -> np.ndarray:
        """The same in double precision, for queries at which many numbers tie."""
        t = self.centred[queries]
        value = np.empty((len(t), len(self.masks)))
        step = max(1, MASK // (2 * t.shape[1]))
        for start in range(0, len(self.masks), step):
            rows = slice(start, start + step)
            value[:, rows] = t @ self.masks.numbers(rows).T
        value *= sign * self.inverse
        value += self.residuals
        return np.partition(value, self.rank - 1, axis=1)[:, self.rank - 1]


def _rows_near_by_arrays(sums, inverse, residuals, rank, error):
    """The rows within `error` of the `rank`-th smallest sums * inverse + residuals.

    Returns
    -------
    below : int array of shape (q,)
        How many rows are certainly smaller than those returned.
    query, row : int arrays
        In increasing order of the queries.
    many : bool array of shape (q,)
        Where the rows are too many, and not returned.
    """
    value = sums * inverse
    value += residuals
    found = np.partition(value, rank - 1, axis=1)[:, rank - 1 : rank]
    is_below = value < found - error[:, None]
    near = ~is_below & (value <= found + error[:, None])
    many = near.sum(axis=1) > MOST
    near[many] = False
    query, row = np.nonzero(near)
    return is_below.sum(axis=1), query, row, many


def _rows_near_compiled(sums, inverse, residuals, rank, error):
    below, near, rows = rows_near(sums, inverse, residuals, rank, error)
    many = near > MOST
    near[many] = 0
    query = np.repeat(np.arange(len(sums)), near)
    return below, query, rows[np.arange(MOST) < near[:, None]], many
