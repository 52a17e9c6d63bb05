"""The average of least-squares fits on random projections of the variables."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._parallel import in_order, one_blas_thread
from sklearn_ensemble_theory._scaling import mean_from_first
from sklearn_ensemble_theory.averaging._projections.small_ridge import ridge_coefficients


class CentredTargets(NamedTuple):
    """W^(1/2) (y - mean) / scale, of shape (n, n_outputs), with mean 0 without an intercept."""

    columns: np.ndarray
    mean: np.ndarray
    scale: float


def centred_targets(
    Y: np.ndarray, weight: np.ndarray, fit_intercept: bool, scale: float
) -> CentredTargets:
    """The targets of the small problems, for weights that sum to 1."""
    columns = Y / scale
    mean = mean_from_first(columns, weight) if fit_intercept else np.zeros(Y.shape[1])
    columns -= mean
    columns *= np.sqrt(weight)[:, None]
    return CentredTargets(columns, mean * scale, scale)


def member_seeds(n_members: int, random_state: np.random.RandomState) -> list[int]:
    """The seed of each member."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=int(n_members))
    return [int(seed) for seed in seeds]


def average_of_members(
    sketch: Any, Z: np.ndarray, alpha: float, seeds: list[int], n_jobs: int | None
) -> Any:
    """Fit each member, in threads, and average them.

    Parameters
    ----------
    sketch : LinearSketch or FeatureSketch
    Z : ndarray of shape (n, n_outputs)
    alpha : float
    seeds : list of int
        One for each member.
    n_jobs : int or None

    Returns
    -------
    model : LinearModel, UnitsModel or TransformersModel
    """
    seeds = seeds[: sketch.n_distinct(len(seeds))]
    targets = sketch.targets(Z)
    with one_blas_thread():
        if n_jobs is None or n_jobs == 1:
            lifted = (_member(sketch, targets, alpha, seed) for seed in seeds)
        else:
            tasks = (delayed(_member)(sketch, targets, alpha, seed) for seed in seeds)
            lifted = in_order(tasks, n_jobs=n_jobs, prefer="threads")
        return sketch.combine(lifted, len(seeds))


def _member(sketch: Any, targets: np.ndarray, alpha: float, seed: int) -> Any:
    design, S = sketch.draw(seed)
    return sketch.lift(S, ridge_coefficients(design, targets, alpha))
