"""scikit-learn's trees as members: input that they need not check, and rounding of targets."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from sklearn_ensemble_theory._numerics.scaling import range_exponent

__all__ = [
    "REGRESSION_TREES",
    "TREES",
    "add_to_outputs",
    "check_counts",
    "check_single_precision",
    "fitted_in_units",
    "is_tree",
    "on_grid",
    "reads_single_precision",
    "single_precision",
    "single_precision_if_finite",
    "target_offset",
]

FAR_FROM_ZERO = 1e4
"""Targets are centred where their mean is more standard deviations away from 0."""

REGRESSION_TREES = (DecisionTreeRegressor, ExtraTreeRegressor)
TREES = (*REGRESSION_TREES, DecisionTreeClassifier, ExtraTreeClassifier)


def is_tree(estimator: Any) -> bool:
    """Whether this is one of scikit-learn's trees itself; a subclass may override its methods."""
    return type(estimator) in TREES


def reads_single_precision(estimator: Any) -> bool:
    """Whether its `predict` takes X in single precision with `check_input=False`, as trees' does.

    A tree of scikit-learn's itself, or of a class whose own `_reads_single_precision` says so.
    """
    return is_tree(estimator) or bool(vars(type(estimator)).get("_reads_single_precision"))


def check_counts(estimator: Any, y: np.ndarray) -> None:
    """Raise an error if y cannot be fitted by the Poisson criterion and the tree has that.

    Trees check it themselves, but not with `check_input=False`.
    """
    if estimator.criterion == "poisson" and y.size:
        if y.min() < 0:
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression, "
                "criterion='poisson'."
            )
        if y.max() <= 0:
            raise ValueError(
                "Sum of y is not strictly positive which is necessary for Poisson regression, "
                "criterion='poisson'."
            )


def fitted_in_units(estimator: Any, X: Any, y: np.ndarray, **params: Any) -> Any:
    """The estimator after a call of its `fit`; a regression tree is fitted in units of y.

    The squares of very large or small targets overflow or vanish, and a tree would not see the
    gain of its splits. Such targets are divided by a power of two, by which the values of the
    nodes are multiplied again; their impurities remain those of the divided targets.
    """
    scaled = type(estimator) in REGRESSION_TREES and y.dtype.kind == "f"
    exponent = range_exponent(y) if scaled else 0
    if not exponent:
        estimator.fit(X, y, **params)
        return estimator
    estimator.fit(X, np.ldexp(y, -exponent), **params)
    values, largest = estimator.tree_.value, np.finfo(np.float64).max
    with np.errstate(over="ignore"):  # a mean that rounding has moved beyond the largest float
        values[...] = np.clip(np.ldexp(values, exponent), -largest, largest)
    return estimator


def single_precision(X: Any) -> Any:
    """X in single precision, in which trees store it: converted once instead of in every fit.

    Parameters
    ----------
    X : {array, CSR or CSC matrix} of shape (n, p)
        Without infinite values.

    Returns
    -------
    {C-contiguous float32 array, float32 CSR matrix} of shape (n, p)

    Raises
    ------
    ValueError
        If a value is beyond the range of single precision.
    """
    check_single_precision(X)
    if sp.issparse(X):
        return X.tocsr().astype(np.float32)
    return np.ascontiguousarray(X, dtype=np.float32)


def check_single_precision(X: Any) -> None:
    """Raise a ValueError where a value, not NaN, is beyond the range of single precision.

    O(n p), without a copy.
    """
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f" or values.dtype == np.float32 or not values.size:
        return
    limit = np.finfo(np.float32).max
    # Of NaN and a number these take the number, other than `max` and `min`.
    if np.fmax.reduce(values, axis=None) > limit or np.fmin.reduce(values, axis=None) < -limit:
        raise ValueError("X has a value too large for dtype('float32'), in which trees store it.")


def single_precision_if_finite(X: Any) -> np.ndarray | None:
    """A dense X in single precision if all its values are finite there, else None.

    None leaves the check to the tree: sparse, non-numeric, missing or very large values.
    """
    if sp.issparse(X) or X.dtype.kind not in "fiub":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        X = np.asarray(X, dtype=np.float32)
        return X if np.isfinite(np.sum(X)) or np.isfinite(X).all() else None


def on_grid(target: np.ndarray) -> np.ndarray:
    """Targets rounded to multiples of 2^-36 of their size, so that a tree's sums are exact.

    A tree breaks ties between equally good splits by the last bit of sums of weights times
    targets. On a grid such sums are exact for integer weights up to 2^17 in all: equal splits tie
    exactly, and integer weights choose the same split as repeated rows.
    """
    size = np.max(np.abs(target), initial=0.0)
    if not size > 0:
        return target
    step = np.ldexp(1.0, int(np.frexp(size)[1]) - 36)
    return np.round(target / step) * step if step > 0 else target


def target_offset(estimator: Any, y: np.ndarray) -> float | np.ndarray:
    """What is subtracted from y before trees are grown; 0.0 where it can stay as it is.

    The squared error of a node is a difference of squares, which loses all digits where the mean of
    y is 10^8 times its spread. Trees for targets of ordinary size stay as they are, bit by bit.

    Parameters
    ----------
    estimator : estimator
        The base learner; targets of other learners than trees with squared error are left alone.
    y : ndarray of shape (n,) or (n, n_outputs)

    Returns
    -------
    float, or ndarray of shape (n_outputs,)
    """
    if not reads_single_precision(estimator) or y.dtype.kind not in "fiu":
        return 0.0
    if estimator.criterion not in ("squared_error", "friedman_mse"):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean = y.mean(axis=0, dtype=np.float64)
        spread = np.sqrt(((y - mean) ** 2).mean(axis=0))
        far = (spread > 0) & (np.abs(mean) > FAR_FROM_ZERO * spread) & np.isfinite(mean)
    return np.where(far, mean, 0.0)[()] if far.any() else 0.0


def add_to_outputs(member: Any, offset: float | np.ndarray) -> None:
    """Move the predictions of a fitted tree, in place."""
    if is_tree(member):
        value = member.tree_.value
        value += np.reshape(offset, (-1, 1))
    else:
        value = member._node_arrays().value
        value += offset
