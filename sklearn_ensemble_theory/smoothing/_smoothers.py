"""What a linear smoother is to boosting: a matrix, its form, its weights and its limits.

A regressor that is linear in y may have the method `linear_smoother()`, whose result
`LinearL2BoostingRegressor` asks (`Smoother`). A regressor without this method is fitted to a few
random targets to see whether it is linear (`check_linear`), and its matrix is made of its outputs
on the unit vectors.
"""

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._learners import checked_outputs, fitted_clone

from ._spline_basis import AdditiveDesign

DENSE_ROWS = 5000
"""Above this many rows no n x n matrix is built."""


class SpectralForm(NamedTuple):
    """S = 1 1'W / sum(w) + U U'W with U'W U = diag(eigenvalues) and U'W 1 = 0.

    It has the learner's outputs at any x: u_j(x) = design(x) @ coefficients[:, j].
    """

    design: AdditiveDesign
    coefficients: np.ndarray
    eigenvalues: np.ndarray


class MatrixForm(NamedTuple):
    """The smoother matrix S itself, which has the learner's outputs at the training rows only.

    `metric` is a positive vector m with m_i S_ij = m_j S_ji, if one is known.
    """

    matrix: np.ndarray
    metric: np.ndarray | None = None


class Smoother(Protocol):
    """The smoother of a regressor's parameters.

    `counts_rows` says whether it changes where equal rows become one of their total weight.
    """

    counts_rows: bool

    def check(self) -> None:
        """Raise a NotLinearError where these parameters make the regressor not linear in y."""

    def form(
        self, X: np.ndarray, weight: np.ndarray, one_feature_each: bool
    ) -> SpectralForm | MatrixForm | None:
        """The form of the smoother matrix on the rows of X, whose weights are positive.

        With `one_feature_each`, that of the average of the smoothers of one feature each. None
        where there is no form but the outputs on the unit vectors.
        """


class NotLinearError(ValueError):
    """A regressor, or these parameters of it, whose predictions are not linear in y."""


class Regressor(Protocol):
    """A regressor, as smoothers are fitted and asked."""

    def fit(self, X: Any, y: Any) -> Any: ...

    def predict(self, X: Any) -> Any: ...


class Totals(NamedTuple):
    """Sums over the observations, rows of which none are equal.

    The sum of the weights w, the weighted mean of y, and the sum of w (y - mean)^2.
    """

    n_rows: int
    weight: float
    mean: float
    squares: float

    @classmethod
    def of(cls, y: np.ndarray, w: np.ndarray) -> "Totals":
        weight = float(w.sum())
        mean = float(w @ y / weight)
        return cls(len(y), weight, mean, float(w @ (y - mean) ** 2))


def distinct_rows(
    X: np.ndarray, Y: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray, np.ndarray]:
    """One copy of each row of X, None where no two are equal; their mean targets and total weights.

    The last array, one number for each target, is the weighted sum of squares of Y about the means.
    It is part of the residual sum of squares of every function of X.
    """
    # Equal rows are neighbours in any lexicographic order; a stable sort keeps copies in the order
    # of the data, which fixes the rounding of their sums.
    order = np.argsort(X[:, 0], kind="stable")
    if X.shape[1] > 1:
        # Rows that differ in the first feature are not equal: the others need not be sorted. This
        # is the usual case, in which X is not copied.
        column = X[order, 0]
        if (column[1:] != column[:-1]).all():
            return None, Y, w, np.zeros(Y.shape[1])
        order = np.lexsort(X.T[::-1])
    new = np.zeros(len(X), dtype=bool)
    new[0] = True
    for x in X.T:
        column = x[order]
        new[1:] |= column[1:] != column[:-1]
    if new.all():
        return None, Y, w, np.zeros(Y.shape[1])
    starts = np.flatnonzero(new)
    weights = np.add.reduceat(w[order], starts)
    means = np.add.reduceat((w[:, None] * Y)[order], starts, axis=0) / weights[:, None]
    gaps = Y[order] - np.repeat(means, np.diff(np.r_[starts, len(order)]), axis=0)
    within = (w[order, None] * gaps**2).sum(axis=0)
    return order[starts], means, weights, within


def check_dense_rows(n_rows: int, name: str) -> None:
    """Refuse to build a matrix of too many rows and columns for boosting the learner `name`."""
    if n_rows > DENSE_ROWS:
        raise ValueError(
            f"Boosting {name} in closed form needs a matrix with {n_rows} rows and columns; at "
            f"most {DENSE_ROWS} are supported. SmoothingSplineRegressor with a number as df or "
            "penalty needs no such matrix, where all rows are used in each round."
        )


def smoother_of(learner: Any) -> Any:
    """The smoother that a learner offers, or None."""
    return learner.linear_smoother() if hasattr(learner, "linear_smoother") else None


def check_linear(estimator: Regressor, X: np.ndarray, fit_params: dict[str, np.ndarray]) -> None:
    """Raise a NotLinearError with the estimator's name where its predictions are not linear in y.

    A regressor that has a `Smoother` answers itself. Another one is fitted to random targets, one
    at a time, because a tree fitted to several targets shares its splits: L(0) = 0 and L(u + c v) =
    L(u) + c L(v) for random u, v and c = 1000, at no more than 1,000 of the training rows and the
    midpoints of pairs of them: a full tree interpolates, and is linear at the rows themselves.
    """
    smoother = smoother_of(estimator)
    if smoother is not None:
        smoother.check()
        return
    name = type(estimator).__name__
    if not is_regressor(estimator):
        raise NotLinearError(f"estimator={name} is not a regressor.")
    # The same targets in every call: a learner is refused always or never.
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, len(X)))
    points = np.vstack([X, X / 2 + X[rng.permutation(len(X))] / 2])
    points = points[rng.permutation(len(points))[:1000]]

    def L(y):
        learner = fitted_clone(estimator, X, y, **fit_params)
        return checked_outputs(learner.predict(points), learner, points)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about targets that are not the user's
        zero, at_u, at_v, at_both = (L(y) for y in (np.zeros(len(X)), u, v, u + 1000.0 * v))
    # In the sum v dominates: a learner whose form depends on y, by splits or a chosen penalty,
    # takes the form for v, which is wrong for u.
    size = max(np.abs(at_u).max(), np.abs(at_v).max(), 1e-3)
    if not all(np.isfinite(out).all() for out in (zero, at_u, at_v, at_both)):
        raise NotLinearError(f"estimator={name} returns predictions that are not finite.")
    if (
        np.abs(zero).max() > 1e-8 * size
        or np.abs(at_u + 1000.0 * at_v - at_both).max() > 1e-6 * 1000.0 * size
    ):
        raise NotLinearError(
            f"estimator={name} is not linear in y: its fit to a sum of targets is not the sum of "
            "its fits. Boosting and bagging in closed form need a linear smoother."
        )


def weight_keyword(estimator: Regressor) -> str | None:
    """Return the name of the parameter of `estimator.fit` for row weights, or None."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline) and has_fit_parameter(estimator[-1], "sample_weight"):
        return f"{estimator.steps[-1][0]}__sample_weight"
    return None
