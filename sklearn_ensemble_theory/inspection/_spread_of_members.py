"""How much members differ, and how stable their mean is."""

import numpy as np

from sklearn_ensemble_theory._typing import FittedPredictor

from .._documentation import documented
from .._typing import MatrixLike
from ..ensembles import _jackknife as jackknife
from ..ensembles._ensemble_stability import stability_of
from ..ensembles._jackknife import VarianceDecomposition
from ._ensembles import MODELS, ensemble_of


@documented(MODELS)
def ensemble_std(model: FittedPredictor, X: MatrixLike) -> np.ndarray:
    """Compute the standard deviation of the predictions of the members around their mean.

    It is the effect of the random draw of rows and features on a single member, and does not
    decrease with the number of members. For the error of the mean see `standard_error`.

    Parameters
    ----------
    %(average)s
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Points at which to compute it.

    Returns
    -------
    std : ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_classes)
        In the units of y, or of a probability.

    Raises
    ------
    ValueError
        With fewer than 2 members.

    Notes
    -----
    Cost: the members' predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import ensemble_std
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> ensemble_std(forest, X[:2]).round()
    array([49., 21.])
    """
    found = ensemble_of(model)
    return jackknife.spread_of_members(found, found.check(X))


@documented(MODELS)
def variance_decomposition(model: FittedPredictor, X: MatrixLike) -> VarianceDecomposition:
    """Estimate the variance and correlation of members and the variance of their mean.

    Over new training sets and new draws, let a member have variance sigma², and two members fitted
    to one training set correlation rho. The mean of B members then has variance rho sigma² + (1 -
    rho) sigma² / B [Shah, §4.5]. The square of `standard_error` estimates rho sigma², the spread of
    the members estimates (1 - rho) sigma².

    %(of_model)s
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Points at which to decompose the variance.

    Returns
    -------
    decomposition : VarianceDecomposition
        With arrays `sigma2`, `rho` and `variance`, one value a point (and output or class).

    Raises
    ------
    ValueError
        As for `standard_error`.

    Notes
    -----
    The cost is as for `standard_error`.

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import variance_decomposition
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> parts = variance_decomposition(forest, X[:50])
    >>> bool((0 <= parts.rho).all() and (parts.rho < 0.5).all())
    True
    """
    found = ensemble_of(model)
    return jackknife.variance_decomposition(found, found.check(X))


@documented(MODELS)
def stability(model: FittedPredictor, delta: float = 0.05) -> float | np.ndarray:
    """Bound how much a bagged prediction changes if a training row is left out.

    At any point and for any data, the mean of the members changes by at most this number for all
    but the share `delta` of the rows. Both fits draw their members afresh, with as many rows. The
    guarantee holds with probability 1 - `delta` over these draws and a row drawn at random [Soloff,
    Barber and Willett, 2024]. For a single point, or for infinitely many members,
    :func:`~sklearn_ensemble_theory.bounds.bagging_stability` has smaller bounds.

    %(of_model)s
    delta : float, default=0.05
        The share of the training rows, or groups, for which a prediction may change more.

    Returns
    -------
    bound : float or ndarray of shape (n_outputs,)
        In the units of y, or of a probability or vote.

    Raises
    ------
    ValueError
        If rows (or groups) are not drawn alike, or none are left out of a member. If outputs have
        no known range (classifiers, trees and nearest neighbours have one). If members depend on
        rows that are not drawn for them, as with `class_weight="balanced"`. If `delta` is not
        between 0 and 1.

    Notes
    -----
    Columns that are cut into bins count as cut in the same way in both fits, though bins follow all
    rows. Cost: O(1).

    %(references_Soloff)s

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> from sklearn_ensemble_theory.inspection import stability
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(500, max_samples=0.1, random_state=0).fit(X, y)
    >>> 0 < stability(forest) < 0.5
    True
    """
    return stability_of(ensemble_of(model), delta)
