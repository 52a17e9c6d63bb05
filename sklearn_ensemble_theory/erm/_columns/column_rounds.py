"""The best single column of X, and the same for all rounds of boosting."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._scaling import largest_magnitude, mean_from_first

# A column whose root mean square about its mean is below this share of the mean is constant.
SMALLEST_SPREAD = 1e-13
BLOCK_VALUES = 2**16  # worked on at a time, where there are more than
SMALL_VALUES = 2**21  # which are copied


class Column(NamedTuple):
    """The function intercept + coef * x[feature]."""

    feature: int
    coef: float
    intercept: float


class ColumnRounds:
    """Single columns as weak learners (see `_weak_learners.PreparedRounds`).

    Parameters
    ----------
    X : float array of shape (n, p)
    weight : array of shape (n,) or None
        Of the rows, for their means and for the bound on the outputs.
    fit_intercept : bool
        Whether the columns are centred at their weighted means.
    criterion : {"squared_error", "inner_product"}
        The least weighted squares, with any coefficient; or the largest inner product with weight
        * target, with coefficients -1 and +1.
    member_of : callable
        ``member_of(n_features, column)`` makes a fitted member of a `Column`.
    for_many : bool, default=True
        False for a single search, which needs no copy of X.
    """

    is_exact = True

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray | None,
        fit_intercept: bool,
        criterion: str,
        member_of: Callable[[int, Column], Any],
        for_many: bool = True,
    ) -> None:
        self.criterion, self.member_of = criterion, member_of
        self.has_scale = criterion == "inner_product"
        # In units of the largest values: squares neither overflow nor vanish.
        X = np.asarray(X, dtype=np.float64, order="C")  # one order of summation
        sizes = np.maximum(X.max(axis=0), -X.min(axis=0))
        self.sizes = np.where(sizes > 0, sizes, 1.0)
        copies = for_many or X.size <= SMALL_VALUES
        self.X, self.columns = X, X / self.sizes if copies else None
        self.weight = normalised_weights(weight, len(X))
        self.means = np.zeros(len(sizes))
        if fit_intercept:
            columns, unit = (X, self.sizes) if self.columns is None else (self.columns, 1.0)
            self.means = self.weight @ columns / unit
        if self.columns is not None:
            self.columns -= self.means
        self.fit_intercept = fit_intercept
        squares = np.zeros(len(sizes))
        for rows, block in self._blocks():
            squares += self.weight[rows] @ block**2
        # A centred column below this is rounding.
        self.usable = np.sqrt(squares) > SMALLEST_SPREAD * np.abs(self.means)
        self.squares = np.where(self.usable, squares, 0.0)
        if self.columns is not None:
            self.columns[:, ~self.usable] = 0.0

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows, and the columns there: in units of their sizes, less `means`."""
        step = max(1, BLOCK_VALUES // len(self.sizes))
        for start in range(0, len(self.X), step):
            rows = slice(start, start + step)
            if self.columns is not None:
                yield rows, self.columns[rows]
            else:
                block = self.X[rows] / self.sizes
                block -= self.means
                yield rows, block

    def _products(self, values: np.ndarray) -> np.ndarray:
        """The inner products of a vector with the columns."""
        if self.columns is not None:
            return values @ self.columns
        products = np.zeros(len(self.sizes))
        for rows, block in self._blocks():
            products += values[rows] @ block
        return products

    @property
    def outputs_bound(self) -> float | None:
        """The largest root mean square of a column."""
        if not self.has_scale:
            return None
        bound = float(np.max(self.sizes * np.sqrt(self.squares)))
        return bound if bound > 0 else 1.0

    def search(self, target: np.ndarray) -> Column:
        """The best column, under the weights of the rows. O(n p)."""
        size = largest_magnitude(target)
        target = target / size
        mean = 0.0
        if self.fit_intercept and not self.has_scale:
            mean = float(mean_from_first(target, self.weight))
        products = self._products(self.weight * (target - mean)) * self.usable
        if self.has_scale:
            j = int(np.argmax(np.abs(products) * self.sizes))
            sign = -1.0 if products[j] < 0 else 1.0
            return Column(j, sign, -sign * float(self.means[j]) * float(self.sizes[j]))
        squares = self.squares
        inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
        j = int(np.argmax(products**2 * inverse))
        slope = float(products[j] * inverse[j])
        # Python's floats overflow without a warning.
        coef = slope * float(size) / float(self.sizes[j])
        intercept = (mean - slope * float(self.means[j])) * float(size)
        if not (np.isfinite(coef) and np.isfinite(intercept)):
            raise ValueError(
                "X is so small, or y so large, that the coefficient overflows; scale them."
            )
        return Column(j, coef, intercept)

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        """The best column and its outputs."""
        found = self.search(target)
        slope = found.coef * float(self.sizes[found.feature])
        assert self.columns is not None
        outputs = slope * self.columns[:, found.feature]
        outputs += found.intercept + slope * float(self.means[found.feature])
        return self.member_of(len(self.sizes), found), outputs
