"""Rectified linear units along the axes as weak learners: columns sorted once for all rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_ensemble_theory._scaling import largest_magnitude
from sklearn_ensemble_theory.erm._relu.hinge_index import HingeIndex
from sklearn_ensemble_theory.erm._relu.hinge_search import Hinge


class ReLURounds:
    """Units over columns sorted once (see `_weak_learners.PreparedRounds`).

    Parameters
    ----------
    X : float array of shape (n, p)
    criterion : {"squared_error", "inner_product"}
        The least weighted squares, with any coefficient; or the largest inner product with weight
        * target, with coefficients -1 and +1.
    unit_of : callable
        ``unit_of(n_features, hinge)`` makes a fitted unit of a `Hinge`.
    """

    is_exact = True

    def __init__(self, X: np.ndarray, criterion: str, unit_of: Callable[[int, Hinge], Any]) -> None:
        self.X, self.criterion, self.unit_of = X, criterion, unit_of
        self.has_scale = criterion == "inner_product"
        self.index = HingeIndex(X)

    @property
    def outputs_bound(self) -> float | None:
        """No unit with coefficient 1 exceeds the largest span of a feature, nor the constant 1."""
        return max(1.0, float(2 * self.index.half_span.max())) if self.has_scale else None

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        """The best unit and its outputs."""
        size = largest_magnitude(target)
        hinge = self.index.best(target / size, weight, self.criterion)
        if not self.has_scale:
            hinge = hinge._replace(coef=hinge.coef * size)
        return self.unit_of(self.X.shape[1], hinge), hinge.outputs(self.X[:, hinge.feature])
