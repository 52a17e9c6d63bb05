"""The training rows of a fitted ensemble, and what is derived from them when first needed."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._learners import reads_single_precision
from sklearn_ensemble_theory.trees._sklearn_trees import single_precision_if_finite


class TrainingRows:
    """The rows that an ensemble was fitted to; derived arrays are kept, but not pickled.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n, p) or None
        None where only the targets are kept.
    y : array of shape (n,) or (n, n_outputs)
        As the members are fitted to it.
    """

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.X, self.y = X, y
        self._members: list[Any] = []
        self._derived: dict[str, Any] = {}

    @classmethod
    def of(cls, estimator: Any, X: Any, y: np.ndarray, is_fresh: bool = False) -> Self:
        """The targets, and X for trees: 4 bytes a value, where a tree takes some 80 for a row.

        X is not copied where it `is_fresh`: made in this fit, in single precision.
        """
        y = np.array(y)
        if not reads_single_precision(estimator):
            return cls(None, y)
        rows = single_precision_if_finite(X)
        if rows is None or (not is_fresh and np.may_share_memory(rows, X)):
            rows = X.copy()
        return cls(rows, y)

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "y": self.y}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_dense(self) -> bool:
        return not sp.issparse(self.X)

    def derived(self, name: str, members: Sequence[Any], make: Callable[[], Any]) -> Any:
        """What `make()` returns, made once for the same members."""
        same = len(self._members) == len(members) and all(map(operator.is_, self._members, members))
        if not same:
            self._members, self._derived = list(members), {}
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]
