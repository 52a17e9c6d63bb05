"""What is stored for each cell: the weights of the classes, or the mean of the targets.

Tables of two sets of rows can be merged, so that rows may come in several calls.
"""

from typing import NamedTuple, Self

import numpy as np

from sklearn_ensemble_theory._scaling import within_range


class ClassTable(NamedTuple):
    """The weight of each class in each cell.

    Attributes
    ----------
    sums : array of shape (n_cells, K)
    """

    sums: np.ndarray

    @classmethod
    def of(
        cls, cell: np.ndarray, n_cells: int, codes: np.ndarray, weight: np.ndarray, *, K: int
    ) -> Self:
        """The table of rows with these cells, classes (0 to K - 1) and weights."""
        sums = np.bincount(cell * K + codes, weight, minlength=n_cells * K)
        return cls(sums.reshape(n_cells, K))

    @property
    def weight(self) -> np.ndarray:
        """The weight of each cell."""
        return self.sums.sum(axis=1)

    @property
    def means(self) -> np.ndarray:
        """The shares of the classes in each cell."""
        return self.sums / self.weight[:, None]

    @property
    def overall(self) -> np.ndarray:
        """The shares of the classes in all cells together."""
        sums = self.sums.sum(axis=0)
        return sums / sums.sum()

    def renumbered(self, cell: np.ndarray, n_cells: int) -> Self:
        """The same table with other numbers of the cells; new cells have no rows."""
        sums = np.zeros((n_cells, self.sums.shape[1]))
        sums[cell] = self.sums
        return type(self)(sums)

    def plus(self, other: Self) -> Self:
        """The table of the rows of both."""
        return type(self)(self.sums + other.sums)


class MeanTable(NamedTuple):
    """The weight and the means of the targets in each cell.

    Means instead of sums: they cannot overflow.

    Attributes
    ----------
    weight : array of shape (n_cells,)
    means : array of shape (n_cells, q)
    """

    weight: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, cell: np.ndarray, n_cells: int, y: np.ndarray, weight: np.ndarray) -> Self:
        """The table of rows with these cells, targets of shape (n, q) and weights."""
        sums = np.bincount(cell, weight, minlength=n_cells)
        share = weight / np.where(sums > 0, sums, 1.0)[cell]
        means = [np.bincount(cell, share * column, minlength=n_cells) for column in y.T]
        return cls(sums, within_range(np.column_stack(means)))

    @property
    def overall(self) -> np.ndarray:
        """The means of the targets in all cells together."""
        with np.errstate(over="ignore"):
            return within_range((self.weight / self.weight.sum()) @ self.means)

    def renumbered(self, cell: np.ndarray, n_cells: int) -> Self:
        """The same table with other numbers of the cells; new cells have no rows."""
        weight, means = np.zeros(n_cells), np.zeros((n_cells, self.means.shape[1]))
        weight[cell], means[cell] = self.weight, self.means
        return type(self)(weight, means)

    def plus(self, other: Self) -> Self:
        """The table of the rows of both."""
        weight = self.weight + other.weight
        share = (other.weight / np.where(weight > 0, weight, 1.0))[:, None]
        return type(self)(weight, (1 - share) * self.means + share * other.means)
