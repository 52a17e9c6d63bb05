"""`fit` of Dask collections, for estimators whose fit reads the rows in chunks.

Such an estimator has a method ``_fit_chunks(rows)``; what it has of the rows is `ChunkedRows`.
"""

import inspect
from collections.abc import Callable
from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

from sklearn_ensemble_theory._chunks.blocks import Blocks
from sklearn_ensemble_theory._chunks.dask_collections import is_collection, meta_of, row_blocks
from sklearn_ensemble_theory._chunks.row_checks import RowChecks, of_checked
from sklearn_ensemble_theory._data.fit_inputs import check_parameters

__all__ = ["ChunkedRows", "fit_collections"]


class ChunkedRows:
    """Rows in chunks, which are checked where they are.

    Parameters
    ----------
    given : Blocks
        Of (number, X, y, weight).
    checks : RowChecks
    meta : array or data frame
        Like X, without rows.
    has_weights : bool, default=False
        Whether weights were given.
    """

    def __init__(
        self, given: Blocks, checks: RowChecks, meta: Any, has_weights: bool = False
    ) -> None:
        self.given, self.checks, self.meta, self.has_weights = given, checks, meta, has_weights

    def knowing(self, **facts: Any) -> "ChunkedRows":
        """The same rows, with what the checks should know."""
        return ChunkedRows(self.given, self.checks.knowing(**facts), self.meta, self.has_weights)

    def map(self, function: Callable[..., Any], *args: Any) -> Blocks:
        """`function(chunk, *args)` of each `CheckedChunk`, kept where it is computed."""
        return self.given.map(of_checked, self.checks, function, *args)

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """The sum of `function(chunk, *args)` over the chunks.

        Raises
        ------
        ValueError
            If no chunk has a row of positive weight.
        """
        total = self.given.sum(of_checked, self.checks, function, *args)
        if total is None:
            raise ValueError("X has no rows of positive weight.")
        return total


def fit_collections(
    estimator: Any, fit: Callable[..., Any], X: Any, y: Any, *args: Any, **kwargs: Any
) -> Any:
    """Fit the estimator to Dask collections.

    Parameters
    ----------
    estimator : object
    fit : callable
        The method that was called, `fit` or another one.
    X, y, *args, **kwargs
        Its arguments.

    Raises
    ------
    TypeError
        If the estimator's fit does not read rows in chunks, or X is no Dask collection.
    """
    name = type(estimator).__name__
    fit_chunks = getattr(estimator, "_fit_chunks", None)
    if fit_chunks is None or fit.__name__ != "fit":
        raise TypeError(
            f"{name}.{fit.__name__} needs all rows in memory and was given a Dask collection. "
            "Call .compute() on it if the rows fit into memory; the user guide, 'Larger than "
            "memory', lists the estimators that fit Dask collections."
        )
    given = inspect.signature(fit).bind(estimator, X, y, *args, **kwargs).arguments
    weight = given.pop("sample_weight", None)
    known = ("self", "X", "y")
    extra = [each for each in given if each not in known and given[each] is not None]
    if extra:
        raise TypeError(f"{name}.fit takes no {extra[0]} with Dask collections.")
    if not is_collection(X):
        raise TypeError(
            f"X must be a Dask collection where y or sample_weight is one; got {type(X).__name__}."
        )
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    check_parameters(estimator)
    estimator._validate_params()
    meta = meta_of(X)
    validate_data(estimator, meta, skip_check_array=True, reset=True)
    checks = RowChecks(meta.shape[1], is_classifier(estimator))
    fit_chunks(ChunkedRows(row_blocks(X, y, weight), checks, meta, weight is not None))
    return estimator
