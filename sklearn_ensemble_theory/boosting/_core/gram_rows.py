"""Rows of a Gram matrix, computed when they are first needed and kept while there is memory.

Greedy algorithms for the squared loss need the products psi_j'W(y - u) only, and a step along psi_k
changes them by row k of the Gram matrix. Matching pursuit, Frank-Wolfe over columns and L2-boosting
by stumps share the cache of this module; what they compute at a time, and how, is their own.
"""

from collections.abc import Sequence

import numpy as np

from sklearn_ensemble_theory.boosting._core.column_dictionary import BLOCK, ColumnDictionary

# Once this share of the rows was needed, the rest is computed in one go.
SHARE_BEFORE_ALL = 0.25
# Memory for rows, where X itself is smaller (bytes).
MIN_MEMORY = 2**28
# Rounds that are looked back on to find the rows that were used least recently.
RECENT_ROUNDS = 1000


class RowCache:
    """Rows by number, computed in groups and forgotten in groups.

    Parameters
    ----------
    n : int
        Number of rows.
    most : int or None
        How many rows are kept; None for all.

    Attributes
    ----------
    views : list of length n
        Each row where it is kept, None elsewhere. It is changed in place only, so that an inner
        loop may hold it and do nothing but index it.
    is_kept : bool array of shape (n,)
    groups : dict of sequences of int
        The numbers in each group that is kept, oldest group first.
    """

    def __init__(self, n: int, most: int | None = None) -> None:
        self.most = most
        self.views: list = [None] * n
        self.is_kept = np.zeros(n, dtype=bool)
        self.groups: dict[int, Sequence[int]] = {}

    def keep(self, group: int, members: Sequence[int], rows: np.ndarray) -> None:
        """Keep the rows of a group: ``rows[i]`` is the row with number ``members[i]``."""
        self.groups[group] = members
        for number, row in zip(members, rows):
            self.views[number] = row
        self.is_kept[members] = True

    def make_room(self, n_new: int, recent: Sequence[int] = ()) -> None:
        """Forget groups until `n_new` more rows fit.

        The groups whose rows were used least recently go first, those of the same age in the
        order in which they came. Inner loops keep no account of use: `recent` are the rows used in
        the rounds before, in order.
        """
        if self.most is None:
            return
        n_kept = sum(map(len, self.groups.values()))
        if n_kept + n_new <= self.most:
            return
        recent = np.array(recent[-RECENT_ROUNDS:], dtype=np.intp)
        last_use = np.full(len(self.views), -1)
        last_use[recent] = np.arange(len(recent))
        for group in sorted(self.groups, key=lambda g: last_use[self.groups[g]].max()):
            members = self.groups.pop(group)
            for number in members:
                self.views[number] = None
            self.is_kept[members] = False
            n_kept -= len(members)
            if n_kept + n_new <= self.most:
                return


class GramRows(RowCache):
    """Rows of the Gram matrix of a dictionary of columns: ``rows.get(j, c)``.

    A row is computed together with those of the columns that are likely to be needed next; once
    `SHARE_BEFORE_ALL` of them were needed, all the others follow at once. So a greedy step costs
    O(d), and at most about twice the products of the cheapest plan are computed.

    Parameters
    ----------
    dictionary : ColumnDictionary
    block : int, default=BLOCK
        Rows computed together; fewer where fewer will ever be needed.
    """

    def __init__(self, dictionary: ColumnDictionary, block: int = BLOCK) -> None:
        d = dictionary.d
        memory = max(MIN_MEMORY, 8 * dictionary.n * d)
        super().__init__(d, max(2 * BLOCK, memory // (8 * d)))
        self.dictionary = dictionary
        self.block = min(block, BLOCK, d)
        self.all_fit = 8 * d * d <= memory

    def get(self, j: int, correlations: np.ndarray, recent: Sequence[int] = ()) -> np.ndarray:
        """Row j; see `load` for the other arguments."""
        row = self.views[j]
        return self.load(j, correlations, recent) if row is None else row

    def load(self, j: int, correlations: np.ndarray, recent: Sequence[int] = ()) -> np.ndarray:
        """Compute row j and others.

        Parameters
        ----------
        j : int
            A row that is not kept.
        correlations : float array of shape (d,)
            Columns with large ones are likely to be needed next.
        recent : sequence of int
            Rows that were used before, in order; see `make_room`.

        Returns
        -------
        float array of shape (d,)
        """
        if self.all_fit and np.count_nonzero(self.is_kept) >= SHARE_BEFORE_ALL * len(self.views):
            self.load_all()
            return self.views[j]
        size = np.abs(correlations)
        size[self.is_kept] = -1.0
        size[j] = np.inf
        likely = np.argpartition(-size, self.block - 1)[: self.block]
        return self.compute(j, likely[size[likely] > 0], recent)

    def compute(self, j: int, likely: np.ndarray, recent: Sequence[int] = ()) -> np.ndarray:
        """Compute row j and those of `likely` that are not kept; see `load`."""
        wanted = np.zeros(len(self.views), dtype=bool)
        wanted[likely] = True
        wanted[self.is_kept] = False
        wanted[j] = True
        likely = np.flatnonzero(wanted)
        self.make_room(len(likely), recent)
        rows = self.dictionary.gram_rows(likely)
        self.keep(j, likely.tolist(), rows)
        return self.views[j]

    def load_all(self) -> None:
        """Compute the whole Gram matrix."""
        self.groups.clear()
        self.keep(0, range(len(self.views)), self.dictionary.gram())
