"""The matrix of a bagged linear smoother: the average over subsets of the rows."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from sklearn_ensemble_theory._rows import rows_of_positive_weight
from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.smoothing._linear_boosting.averaged_learners import (
    AveragedLearner,
    check_linear,
    row_subsets,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.base import weight_keyword


def bagged_smoother(
    estimator: Any,
    X: ArrayLike,
    X_new: ArrayLike | None = None,
    *,
    subsample: float = 0.5,
    n_subsamples: int = 1_000,
    sample_weight: ArrayLike | None = None,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Matrix of the average of a linear smoother over subsets of the rows.

    Bagging a learner that is linear in y, without replacement, gives another linear smoother: its
    predictions are G y with a matrix G that does not depend on y [Bach, §10.1.2]. If there are at
    most `n_subsamples` subsets, all of them are used, and G y is the limit of infinitely many
    members; otherwise that many subsets are drawn. Any number of targets, degrees of freedom and
    effective weights follow from G without further fits.

    Parameters
    ----------
    estimator : regressor
        A regressor that is linear in y, as for
        :class:`~sklearn_ensemble_theory.LinearL2BoostingRegressor`.
    X : array-like of shape (n_samples, n_features)
        The training rows.
    X_new : array-like of shape (n_new, n_features), default=None
        The rows to predict. By default the training rows.
    subsample : float in (0, 1], default=0.5
        Share of the rows in each subset: floor(subsample * n_samples) rows.
    n_subsamples : int, default=1_000
        Maximum number of subsets.
    sample_weight : array-like of shape (n_samples,), default=None
        Positive weights of the rows, passed to the fits.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of subsets.
    n_jobs : int, default=None
        Number of jobs for the fits to unit vectors, for learners without several targets.

    Returns
    -------
    G : ndarray of shape (n_new, n_samples)
        G[i, j] is the prediction at row i of X_new for the j-th unit vector as targets.

    Raises
    ------
    ValueError
        If the learner is not linear in y or does not support weights that differ, if a subset
        would be empty, or if a parameter is outside its range.

    See Also
    --------
    LinearL2BoostingRegressor : With `subsample`, boosting of this average.
    BaggingRegressor : Bagging by simulation, of any regressor.
    bagged_nearest_neighbors_weights : The weights for nearest neighbours, in closed form.

    Notes
    -----
    O(n_subsamples) fits to floor(subsample * n_samples) targets at once, and O(n_new n_samples)
    memory.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    The rows sum to 1, as those of the spline, which reproduces constants:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.smoothing import SmoothingSplineRegressor, bagged_smoother
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> spline = SmoothingSplineRegressor(df=5)
    >>> G = bagged_smoother(spline, X, subsample=0.75, random_state=0)  # all 220 subsets
    >>> G.shape
    (12, 12)
    >>> bool(np.allclose(G.sum(axis=1), 1))
    True
    """
    if not (isinstance(subsample, Real) and 0 < subsample <= 1):
        raise ValueError(f"subsample must be above 0 and at most 1, got {subsample!r}.")
    if not (isinstance(n_subsamples, Integral) and n_subsamples >= 1):
        raise ValueError(f"n_subsamples must be a positive int, got {n_subsamples!r}.")
    X = check_array(X, dtype=np.float64)
    new = X if X_new is None else check_array(X_new, dtype=np.float64, input_name="X_new")
    if new.shape[1] != X.shape[1]:
        raise ValueError(f"X_new has {new.shape[1]} features, X has {X.shape[1]}.")
    check_consistent_length(X, sample_weight)
    kept = rows_of_positive_weight(sample_weight, X)
    if len(kept.weight) < len(X):
        raise ValueError("sample_weight must be positive for every row.")
    size = len(X) if subsample == 1 else int(np.floor(subsample * len(X) + 1e-9))
    if size < 1:
        raise ValueError(f"subsample={subsample} of {len(X)} rows is less than one row.")
    keyword = weight_keyword(estimator)
    if keyword is None and kept.weight.min() < kept.weight.max():
        name = type(estimator).__name__
        raise ValueError(f"estimator={name} does not support sample_weight.")
    check_linear(estimator, X, {} if keyword is None else {keyword: kept.weight})
    rng = check_random_state(random_state)
    subsets = row_subsets(len(X), size, int(n_subsamples), rng)
    settings = [(rows, None) for rows in subsets]
    learner = AveragedLearner(estimator, X, kept.weight, keyword, settings, n_jobs)
    return np.asarray(learner.outputs(new))
