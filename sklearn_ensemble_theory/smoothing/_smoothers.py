"""What linear smoothers share: their limits, and the form in which boosting takes their matrix.

A regressor that is linear in y may define four methods, which `LinearL2BoostingRegressor` calls:

``_check_linear()``
    Raises ValueError where the regressor's parameters make it not linear in y. A regressor
    without this method is fitted to a few random targets instead.

``_linear_form(X, weight, one_feature_each)``
    Returns a `SpectralForm` or a `MatrixForm` of the smoother matrix on the rows of X, whose
    weights are positive; with `one_feature_each`, of the average of the smoothers of one feature
    each. Returns None where the regressor has no form of its own; its outputs on the unit vectors
    are computed then, as they are for a regressor without this method.

``_feature_smoothers(X, weight)``
    For `coordinates="best"`: the smoothers of one feature each, as functions that diagonalise them
    (`_spline.feature_sums`). Only a learner that is a sum of such smoothers defines it.

``_sums_of_chunks(rows, coordinates, n_splits)``
    For rows in chunks: the sums over them, also by folds, of which its form and its
    smoothers of one feature are functions (`_spline.chunked_splines`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

DENSE_ROWS = 5000
"""Above this many rows no n x n matrix is built."""


@dataclass(frozen=True)
class SpectralForm:
    """S = 1 1'W / sum(w) + U U'W with U'W U = diag(eigenvalues) and U'W 1 = 0.

    Attributes
    ----------
    gives_predictions : bool
        Whether the form has the learner's outputs at any x, not at the training rows only.
    design : AdditiveDesign
    coefficients : ndarray of shape (n_basis_functions, n_functions)
        u_j(x) = design(x) @ coefficients[:, j].
    eigenvalues : ndarray of shape (n_functions,)
    """

    gives_predictions: ClassVar[Literal[True]] = True
    design: Any
    coefficients: np.ndarray
    eigenvalues: np.ndarray


@dataclass(frozen=True)
class MatrixForm:
    """The smoother matrix S itself.

    Attributes
    ----------
    gives_predictions : bool
        As for `SpectralForm`.
    matrix : ndarray of shape (n, n)
    metric : ndarray of shape (n,) or None
        Positive m with m_i S_ij = m_j S_ji, if known.
    """

    gives_predictions: ClassVar[Literal[False]] = False
    matrix: np.ndarray
    metric: np.ndarray | None = None


class Totals(NamedTuple):
    """Sums over the observations, rows of which none are equal.

    Attributes
    ----------
    n_rows : int
    weight, mean, squares : float
        The sum of the weights w, the weighted mean of y, and the sum of w (y - mean)^2.
    """

    n_rows: int
    weight: float
    mean: float
    squares: float

    @classmethod
    def of(cls, y: np.ndarray, w: np.ndarray) -> "Totals":
        """Those of rows in memory."""
        weight = float(w.sum())
        mean = float(w @ y / weight)
        return cls(len(y), weight, mean, float(w @ (y - mean) ** 2))


def check_dense_rows(n_rows: int, name: str) -> None:
    """Refuse to build a matrix of too many rows and columns for boosting the learner `name`."""
    if n_rows > DENSE_ROWS:
        raise ValueError(
            f"Boosting {name} in closed form needs a matrix with {n_rows} rows and columns; at "
            f"most {DENSE_ROWS} are supported. SmoothingSplineRegressor with a number as df or "
            "penalty needs no such matrix, where all rows are used in each round."
        )
