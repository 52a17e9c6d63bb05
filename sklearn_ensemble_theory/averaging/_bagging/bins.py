"""Whether the trees of an ensemble are grown on binned columns.

The answer depends on the parameters, the number of rows and the kind of the data, and on nothing
else: not on what is installed, and not on the number of jobs.
"""

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory.trees._binned_tree import binned_equivalent

# "auto" bins the columns of data of more rows than this.
AUTO_ROWS = 10_000
# Where full trees draw features, their test error is larger by 0.5 to 2.5 % with 255 bins: deep in
# a tree a feature that has been cut often has few codes left. More bins than this gain no more.
AUTO_BINS = 2047


def can_be_binned(X: Any, y: np.ndarray) -> bool:
    """Whether X is a dense array of numbers, and y one output."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and y.ndim == 1


def with_bins(
    estimator: BaseEstimator,
    X: Any,
    y: np.ndarray,
    max_bins: int | Literal["auto"] | None,
    random_cuts: bool = False,
    n_rows: int | None = None,
) -> BaseEstimator:
    """The tree on binned columns that the parameter `max_bins` asks for, or the estimator itself.

    `random_cuts` as in `binned_equivalent`; `n_rows`, by default those of X, is the number by which
    "auto" is judged.

    Raises
    ------
    ValueError
        If `max_bins` is a number and the estimator or the data cannot be binned.
    """
    n_rows = X.shape[0] if n_rows is None else n_rows
    if max_bins is None or (max_bins == "auto" and n_rows <= AUTO_ROWS):
        return estimator
    n_bins = AUTO_BINS if max_bins == "auto" else max_bins
    binned = binned_equivalent(estimator, n_bins, random_cuts)
    if binned is not None and can_be_binned(X, y):
        return binned
    if max_bins == "auto":
        return estimator
    if binned is None:
        raise ValueError(
            f"max_bins={max_bins} requires a decision tree of scikit-learn's with parameters that "
            f"trees on binned columns have; got {estimator!r}. Use max_bins=None."
        )
    raise ValueError(
        f"max_bins={max_bins} requires a dense X of numbers and a single output; use max_bins=None."
    )
