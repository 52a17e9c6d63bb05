"""Binned trees as members of a bagged ensemble: the columns are cut into bins once."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.class_weight import compute_sample_weight

from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._estimators.estimators import (
    BinnedTreeClassifier,
    BinnedTreeRegressor,
)

__all__ = ["BinnedMembers", "binned_equivalent"]

# The classes that have an equivalent, and the names of its criteria.
REGRESSION = (BinnedTreeRegressor, ("squared_error", "poisson"))
CLASSIFICATION = (BinnedTreeClassifier, ("gini", "log_loss", "entropy"))
EQUIVALENTS: dict[type, tuple[Any, tuple[str, ...]]] = {
    DecisionTreeRegressor: REGRESSION,
    ExtraTreeRegressor: REGRESSION,
    DecisionTreeClassifier: CLASSIFICATION,
    ExtraTreeClassifier: CLASSIFICATION,
}


class BinnedMembers:
    """What all trees of a bagged ensemble share (see `_weak_learners.PreparedMembers`).

    Parameters
    ----------
    tree : BinnedTreeRegressor or BinnedTreeClassifier
        For the number of bins.
    X : float array of shape (n, p)
    sample_weight : array of shape (n,) or None
        For the quantiles of the bins.
    n_jobs : int or None, default=1
        Of the ensemble: columns are cut into bins by so many threads.

    Raises
    ------
    ValueError
        If X has values too large for single precision.
    """

    def __init__(
        self,
        tree: Any,
        X: np.ndarray,
        sample_weight: np.ndarray | None,
        n_jobs: int | None = 1,
    ) -> None:
        n_threads = 1 if n_jobs == 1 else effective_n_jobs(n_jobs)
        self.columns = BinnedColumns.of(X, tree.max_bins, sample_weight, n_threads, wide=True)

    def fit(
        self,
        member: Any,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        features: np.ndarray | None,
    ) -> Any:
        """Fit one member to rows and features of the columns."""
        columns = self.columns if features is None else self.columns.take_features(features)
        rows = None if len(rows) == columns.n_rows else rows
        classes = None
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
        if is_classifier(member):
            classes, codes = _classes_and_codes(y)
            if member.class_weight is not None:
                by_class = compute_sample_weight(member.class_weight, y)
                weights = by_class if weights is None else weights * by_class
            member._grow_on(columns, codes, weights, rows, classes=classes, n_classes=len(classes))
        else:
            member._grow_on(columns, np.asarray(y, dtype=np.float64), weights, rows)
        member._prune()
        return member


def _classes_and_codes(y):
    """`np.unique` with the inverse, without a sort where y holds small integers."""
    if y.dtype.kind not in "iu" or not len(y) or y.min() < 0 or y.max() >= len(y):
        return np.unique(y, return_inverse=True)
    counts = np.bincount(y)
    classes = np.flatnonzero(counts)
    codes = y if len(classes) == len(counts) else (np.cumsum(counts > 0) - 1)[y]
    return classes.astype(y.dtype), codes


def binned_equivalent(tree: Any, max_bins: int, random_cuts: bool = False) -> Any:
    """The binned tree with the parameters of one of scikit-learn's decision trees.

    Parameters
    ----------
    tree : estimator
    max_bins : int
    random_cuts : bool, default=False
        Whether random cuts may be replaced by ones that are uniform over bins, not over values.

    Returns
    -------
    binned : BinnedTreeRegressor, BinnedTreeClassifier or None
        None for any other estimator, subclasses included, and for parameters that a binned tree
        does not have or that mean something else in it (random cuts, unless `random_cuts`).
    """
    if type(tree) not in EQUIVALENTS:
        return None
    kind, criteria = EQUIVALENTS[type(tree)]
    parameters = tree.get_params(deep=False)
    if not isinstance(parameters["criterion"], str) or parameters["criterion"] not in criteria:
        return None
    if parameters["splitter"] != "best" and not random_cuts:
        return None
    return kind(max_bins=max_bins, **parameters)
