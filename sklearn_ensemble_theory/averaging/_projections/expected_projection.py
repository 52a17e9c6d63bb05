"""The expectation of the random projection of the targets, and the risk of averages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.averaging._projections.small_ridge import hat_factors


@dataclass(frozen=True)
class ExpectedProjection:
    """Estimate of the expected matrix Delta that maps targets to fitted values.

    Returned by :meth:`~sklearn_ensemble_theory.RandomProjectionRegressor.expected_projection`. Each
    member has fitted values Pi y with a random matrix Pi, an orthogonal projection for
    least squares.

    Attributes
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
        The mean of Pi over the draws. Its eigenvalues are in [0, 1].
    second_moment : ndarray of shape (n_samples, n_samples)
        The mean of the squares of Pi; `matrix` where Pi is a projection.
    n_draws : int
        Number of draws; the exact Delta where all draws are equal.
    weights : ndarray of shape (n_samples,)
        The square roots of the weights of the rows, divided by the root of their sum. The matrices
        map targets that are multiplied by them.
    total_weight : float
        The sum of the weights, the number of rows n without weights.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.
    """

    matrix: np.ndarray
    second_moment: np.ndarray
    n_draws: int
    weights: np.ndarray
    total_weight: float

    def risk(self, mean: ArrayLike, sigma: float = 1.0, n_estimators: int = 1) -> float:
        """Return the expected excess risk of the average of m members on the same rows.

        The expectation of the mean squared difference between fitted values and `mean`, over the
        noise and the projections [Bach, §10.2.2]:

        (1/n) (||(I - Delta) f||^2 + sigma^2 tr Delta^2)
        + (1/(n m)) (f'(Delta - Delta^2) f + sigma^2 (tr Delta - tr Delta^2)).

        The estimate of Delta^2 is corrected for the finite number of draws, so that the risk is
        unbiased for every m. O(n^2) for each call.

        Parameters
        ----------
        mean : array-like of shape (n_samples,)
            The mean f of the targets given X, at the rows.
        sigma : float, default=1.0
            Standard deviation of the noise.
        n_estimators : int or float, default=1
            The number m of members; infinity for the limit.

        Returns
        -------
        risk : float
            The risk, in units of y squared.

        Raises
        ------
        ValueError
            If `mean` has another length than the rows, if `sigma` is negative or not finite, or
            if `n_estimators` is below 1.
        """
        f = np.asarray(mean, dtype=np.float64)
        if f.shape != self.weights.shape:
            raise ValueError(f"mean must have shape {self.weights.shape}, got {f.shape}.")
        if not (np.isfinite(sigma) and sigma >= 0):
            raise ValueError(f"sigma must be finite and non-negative, got {sigma!r}.")
        if not n_estimators >= 1:
            raise ValueError(f"n_estimators must be at least 1, got {n_estimators!r}.")
        f = self.weights * f
        noise = sigma**2 / self.total_weight
        fitted = self.matrix @ f
        # Of the mean over the draws, and of one draw: their difference is what averaging removes.
        average = f @ f - 2 * f @ fitted + fitted @ fitted
        average += noise * np.sum(self.matrix**2)
        single = f @ f - 2 * f @ fitted + f @ self.second_moment @ f
        single += noise * np.trace(self.second_moment)
        removed = 0.0
        if self.n_draws > 1:
            removed = (single - average) / (1 - 1 / self.n_draws)
        return float(single - removed * (1 - 1 / n_estimators))


def expected_projection(
    sketch: Any, seeds: Iterable[int], alpha: float, with_mean: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """Means over the draws of the matrix of the fitted values and of its square.

    Parameters
    ----------
    sketch : LinearSketch or FeatureSketch
    seeds : sequence of int
    alpha : float
    with_mean : bool
        Whether the fitted values have the mean of the targets added.

    Returns
    -------
    first, second : ndarray of shape (n, n)
    n_draws : int
    """
    seeds = list(seeds)
    seeds = seeds[: sketch.n_distinct(len(seeds))]
    first: Any = 0.0
    second: Any = 0.0
    for seed in seeds:
        U, f = hat_factors(sketch.draw(seed)[0], alpha)
        first = first + (U * f) @ U.T
        if alpha > 0:
            second = second + (U * f**2) @ U.T
    first = sketch.expand(first / len(seeds))
    second = sketch.expand(second / len(seeds)) if alpha > 0 else first
    if with_mean:
        root = sketch.root
        first = first + np.outer(root, root)
        second = second + np.outer(root, root) if alpha > 0 else first
    return first, second, len(seeds)
