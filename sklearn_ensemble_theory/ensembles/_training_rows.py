"""The training rows of a fitted ensemble, and the members that each of them is left out of.

Intervals, sets and importances rest on predictions for rows that a member was not fitted to. The
draws of the members are repeated from their seeds; only X (for trees) and y are kept.
"""

import operator
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._learners import reads_single_precision
from sklearn_ensemble_theory._typing import Predictor
from sklearn_ensemble_theory.trees._sklearn_trees import single_precision_if_finite

Derived = TypeVar("Derived")


class TrainingRows:
    """The rows that an ensemble was fitted to; derived arrays are kept, but not pickled.

    X is None where only the targets are kept; y is as the members are fitted to it. So large a
    share of them are copies of earlier rows, see `share_of_copies`.
    """

    def __init__(
        self, X: np.ndarray | sp.csr_array | None, y: np.ndarray, share_of_copies: float = 0.0
    ) -> None:
        self.X, self.y, self.share_of_copies = X, y, share_of_copies
        self._members: list = []
        self._derived: dict = {}

    @classmethod
    def of(
        cls,
        estimator: Predictor,
        X,
        y: np.ndarray,
        is_fresh: bool = False,
        in_double: bool = False,
        share_of_copies: float = 0.0,
    ) -> Self:
        """Keep the targets, and X for trees: 4 bytes a value, where a tree takes some 80 for a row.

        X is not copied where it `is_fresh`: made in this fit, in single precision; `in_double` it
        takes 8 bytes a value.
        """
        y = np.array(y)
        if not reads_single_precision(estimator):
            return cls(None, y, share_of_copies)
        # Trees read single precision: what they can read takes half the memory.
        rows = None if in_double else single_precision_if_finite(X)
        if rows is None or (not is_fresh and np.may_share_memory(rows, X)):
            rows = X.copy()
        return cls(rows, y, share_of_copies)

    def are_those_of(self, other: "TrainingRows") -> bool:
        """Whether these are the same rows, X as far as both have it."""
        if not np.array_equal(self.y, other.y):
            return False
        X: Any = self.X
        Z: Any = other.X
        if X is None or Z is None or X is Z:
            return True
        if X.shape != Z.shape or sp.issparse(X) != sp.issparse(Z):
            return False
        if sp.issparse(X):
            X, Z = X.tocsr(), Z.tocsr()
            same = np.array_equal(X.indptr, Z.indptr) and np.array_equal(X.indices, Z.indices)
            return same and np.array_equal(X.data, Z.data)
        return np.array_equal(X, Z, equal_nan=X.dtype.kind == "f")

    def __getstate__(self) -> dict:
        # What is derived can be made again, and would make pickles large.
        return {"X": self.X, "y": self.y, "share_of_copies": self.share_of_copies}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def derived(self, name: str, members: Sequence, make: Callable[[], Derived]) -> Derived:
        """Return what `make()` returns, made once for the same members."""
        # By identity: another fit, or a longer warm start, has other members.
        same = len(self._members) == len(members) and all(map(operator.is_, self._members, members))
        if not same:
            self._members, self._derived = list(members), {}
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]


class OutsideMasks:
    """Which members are not fitted to which rows, or other units that are drawn, as bits."""

    def __init__(self, n: int, draws: list[np.ndarray]) -> None:
        self.n_members = len(draws)
        self.bits = np.zeros((n, -(-len(draws) // 8)), dtype=np.uint8)
        self.counts = np.zeros(n)
        # Eight members at a time: the dense mask of all of them would take eight times the memory.
        for byte in range(self.bits.shape[1]):
            block = draws[8 * byte : 8 * byte + 8]
            outside = np.ones((n, len(block)), dtype=bool)
            for b, drawn in enumerate(block):
                outside[drawn, b] = False
            self.bits[:, byte] = np.packbits(outside, axis=1)[:, 0]
            self.counts += outside.sum(axis=1)

    def __len__(self) -> int:
        return len(self.bits)

    def of_rows(self, rows: np.ndarray) -> Self:
        some = copy(self)
        some.bits, some.counts = self.bits[rows], self.counts[rows]
        return some

    def numbers(self, rows: slice | np.ndarray, dtype: type = np.float64) -> np.ndarray:
        """Return the mask of these rows, of shape (rows, B)."""
        return np.unpackbits(self.bits[rows], axis=1, count=self.n_members).astype(dtype)
